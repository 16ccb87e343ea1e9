"""scikit-learn's own estimator checks for every public estimator."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmproba

NOT_REPETITION = (
    "A bootstrap cannot do this: bags are drawn from records, so a record of weight 2 (drawn as "
    "one, with twice the price) and two equal records (drawn independently) have different "
    "distributions. scikit-learn's BaggingClassifier and RandomForestClassifier fail it too."
)
NOT_A_KERNEL = (
    "The check hands over a matrix that is no kernel matrix (shifted or cut to whole numbers, "
    "hence not positive semidefinite), which is refused with a clear error."
)
TOO_FEW = (
    "The check hands over a class with one record, which is refused with a clear error: it could "
    "not be in a bag and out of it."
)


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Checks that cannot be passed, with the reason."""
    failures = {
        "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
    }
    if estimator.get_params().get("kernel") == "precomputed":
        failures |= {
            "check_positive_only_tag_during_fit": NOT_A_KERNEL,
            "check_estimators_dtypes": NOT_A_KERNEL,
            "check_fit2d_1feature": TOO_FEW,
        }
    return failures


def public_estimators() -> list[type[BaseEstimator]]:
    """Every estimator class among the public names, aliases once."""
    objects = (getattr(svmproba, name) for name in svmproba.__all__)
    classes = {obj for obj in objects if inspect.isclass(obj) and issubclass(obj, BaseEstimator)}
    return sorted(classes, key=lambda cls: cls.__name__)


def small(cls: type[BaseEstimator], **params: object) -> BaseEstimator:
    """An instance with few bags and values, so that a check takes milliseconds."""
    sizes = {"Cs": [0.1, 1.0], "n_bootstraps": 25}
    known = cls().get_params()
    return cls(**{name: value for name, value in (sizes | params).items() if name in known})


def instances() -> list[BaseEstimator]:
    found = []
    for cls in public_estimators():
        found.append(small(cls))
        if "kernel" in cls().get_params():
            found.append(small(cls, kernel="rbf"))
            found.append(small(cls, kernel="precomputed"))
    return found


@parametrize_with_checks(instances(), expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_discovery_finds_the_estimators():
    assert svmproba.BootstrapSVC in public_estimators()


@pytest.mark.parametrize("cls", public_estimators())
def test_every_parameter_is_documented(cls):
    text = inspect.getdoc(cls)
    for name in cls().get_params():
        assert f"\n{name} : " in text, name
