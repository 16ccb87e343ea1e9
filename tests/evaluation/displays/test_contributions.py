import numpy as np
import pytest

from svmproba import BootstrapSVC
from svmproba.evaluation import ContributionDisplay, ContributionSummaryDisplay, explain

pytestmark = pytest.mark.usefixtures("closed_figures")


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_bars_lead_from_the_base_to_the_score():
    values, limits = [0.5, -2.0, 0.1, 0.2], [[0.4, -2.5, 0.0, 0.1], [0.7, -1.5, 0.3, 0.3]]
    display = ContributionDisplay.from_contributions(
        values, base=1.0, limits=limits, names=list("abcd"), max_columns=2
    )
    assert labels(display) == ["b", "a", "2 other columns"]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.bars_]
    np.testing.assert_allclose(ends, [(1.0, -1.0), (-1.0, -0.5), (-0.5, -0.2)])
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert colors[0] != colors[1] == colors[2]
    (lines,) = [c for c in display.ax_.collections if len(c.get_segments()) == 2]
    drawn = [segment[:, 0].tolist() for segment in lines.get_segments()]
    np.testing.assert_allclose(drawn, [(-1.5, -0.5), (-0.6, -0.3)])
    assert display.ax_.get_xlabel().endswith("1 to −0.2")


def test_dots_are_sorted_by_mean_size():
    values = np.array([[1.0, -5.0], [1.0, 5.0], [-1.0, 0.0]])
    display = ContributionSummaryDisplay.from_contributions(values, names=["a", "b"])
    assert labels(display) == ["b (3.33)", "a (1)"]
    np.testing.assert_allclose(display.dots_[0].get_offsets()[:, 0], values[:, 1])
    up, down = display.dots_[1].get_facecolors()[[0, 2]]
    assert not np.allclose(up, down)
    few = ContributionSummaryDisplay.from_contributions(
        np.arange(2000.0).reshape(1000, 2), max_columns=1, max_samples=10
    )
    assert labels(few) == ["x1 (1e+03)"]
    assert len(few.dots_[0].get_offsets()) == 10


def test_estimators_and_pipelines(pipeline, data):
    X, _ = data
    found = explain(pipeline, X)
    display = ContributionDisplay.from_estimator(pipeline, X[3:4])
    np.testing.assert_allclose(display.values, found.values[3])
    assert display.base == found.base
    every = ContributionSummaryDisplay.from_estimator(pipeline, X, background=X[:5])
    np.testing.assert_allclose(every.values[:5].mean(axis=0), 0, atol=1e-12)


def test_the_other_class_and_several_classes(pipeline, data):
    X, _ = data
    own, other = (
        ContributionDisplay.from_estimator(pipeline, X[:1], pos_label=label)
        for label in ("no", "yes")
    )
    np.testing.assert_allclose(own.values, -other.values)
    assert (other.limits[0] <= other.values).all()
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    several = BootstrapSVC([1.0], n_bootstraps=20, random_state=0).fit(X, labels)
    found = explain(several, X)
    display = ContributionSummaryDisplay.from_estimator(several, X, pos_label="c")
    np.testing.assert_allclose(display.values, found.values[..., 2])
    with pytest.raises(ValueError, match=r"pos_label must be one of the classes .*, got None"):
        ContributionDisplay.from_estimator(several, X[:1])


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda m, X: ContributionDisplay.from_estimator(m, X), "X must hold one sample, got 150"),
        (lambda m, X: ContributionDisplay.from_contributions([]), "finite array of 1 axes"),
        (lambda m, X: ContributionDisplay.from_contributions([np.nan]), "finite array"),
        (lambda m, X: ContributionSummaryDisplay.from_contributions([1.0]), "array of 2 axes"),
        (
            lambda m, X: ContributionDisplay.from_contributions([1.0], names=["a", "b"]),
            "names must hold 1 names, got 2",
        ),
    ],
)
def test_bad_input_is_named(pipeline, data, draw, said):
    with pytest.raises(ValueError, match=said):
        draw(pipeline, data[0])
