"""Guaranteed recalls of several classes hold at the stated confidence, all at once."""

import numpy as np
import pytest

from svmproba import BootstrapSVC

pytestmark = pytest.mark.slow

CENTRES = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5], [1.5, 1.5]])
N_TRIALS = 400
#: A tenth of the trials may fail. The recalls on 4 000 samples have errors of their own, which
#: move as many trials over the line as back.
LIMIT = N_TRIALS * 0.1 + 3 * np.sqrt(N_TRIALS * 0.1 * 0.9)


def draw(n, rng):
    y = rng.choice(4, size=n, p=[0.4, 0.3, 0.2, 0.1])
    return CENTRES[y] + rng.normal(size=(n, 2)), y


@pytest.fixture(scope="module", params=[None, "platt"])
def model(request):
    fitted = BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=40, calibration=request.param, random_state=0)
    return fitted.fit(*draw(300, np.random.default_rng(0)))


@pytest.mark.parametrize("recall", [{3: 0.7}, {0: 0.8}, {0: 0.7, 3: 0.6}])
def test_split_holds_for_all_named_classes(model, recall):
    rng = np.random.default_rng(1)
    X_new, y_new = draw(4000, rng)
    n_failed = n_refused = 0
    for _ in range(N_TRIALS):
        X, y = draw(400, rng)
        try:
            careful = model.with_rate(recall=recall, guarantee="split", confidence=0.9, X=X, y=y)
        except ValueError as error:
            assert "cannot be guaranteed together" in str(error)  # noqa: PT017
            n_refused += 1
            continue
        called = careful.predict(X_new)
        n_failed += any(np.mean(called[y_new == k] == k) < rate for k, rate in recall.items())
    print(f"{recall}: {n_failed} of {N_TRIALS} trials failed, {n_refused} were refused")
    assert n_refused < N_TRIALS / 2  # a test that nearly always refuses would show nothing
    assert n_failed <= LIMIT


def draw_groups(n_groups, n_visits, rng):
    """Visits of patients of one class each; most of what is special about a patient stays."""
    X, y = draw(n_groups, rng)
    X = np.repeat(X, n_visits, axis=0) + 0.3 * rng.normal(size=(n_groups * n_visits, 2))
    return X, np.repeat(y, n_visits), np.repeat(np.arange(n_groups), n_visits)


@pytest.mark.parametrize("recall", [{3: 0.6}, {0: 0.7, 2: 0.5}])
def test_groups_keep_the_recalls_that_samples_break(recall):
    rng = np.random.default_rng(2)
    fitted = BootstrapSVC(Cs=[1.0], n_bootstraps=20, calibration="platt", random_state=0)
    X, y, groups = draw_groups(100, 5, rng)
    fitted.fit(X, y, groups=groups)
    X_new, y_new, _ = draw_groups(4000, 1, rng)
    failed, refused = {"respected": 0, "ignored": 0}, 0
    for _ in range(N_TRIALS):
        X, y, groups = draw_groups(250, 5, rng)
        for kind in failed:
            given = {"groups": groups} if kind == "respected" else {}
            wish = {"recall": recall, "guarantee": "split", "X": X, "y": y}
            try:
                careful = fitted.with_rate(**wish, **given)
            except ValueError as error:
                assert "guarantee" in str(error)  # noqa: PT017
                refused += kind == "respected"
                continue
            called = careful.predict(X_new)
            failed[kind] += any(np.mean(called[y_new == k] == k) < r for k, r in recall.items())
    print(f"{recall}: {failed} of {N_TRIALS} trials failed, {refused} were refused")
    assert refused < N_TRIALS / 2
    assert failed["respected"] <= LIMIT < failed["ignored"]
