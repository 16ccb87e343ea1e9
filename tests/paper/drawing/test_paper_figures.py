"""The paper's figures."""

import numpy as np
import pytest

from svmproba.paper.comparison import ComparedTable, Entry, Row
from svmproba.paper.drawing import paper_figures


def test_bars_are_the_negative_class():
    figure = paper_figures.instances(np.array([0, 1]), np.array([0.25, 1.0]), "title")
    assert [bar.get_height() for bar in figure.axes[0].patches] == [1, 0, 0.75, 0]


def test_dots_hold_every_record_once():
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=103), rng.integers(0, 2, 103)
    centres, shares = paper_figures.empirical_probability(score, y)
    assert len(centres) == len(shares) == 12
    assert np.all(np.diff(centres) > 0)
    sizes = np.array([9] * 7 + [8] * 5)
    assert np.sum(shares * sizes) == pytest.approx(y.sum())
    assert len(paper_figures.empirical_probability(score[:3], y[:3])[0]) == 1


def scored(n=400, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    return score, 1 / (1 + np.exp(-score)), (rng.normal(size=n) < score).astype(int)


def legend(holder):
    return [text.get_text() for text in holder.get_texts()]


def test_a_sigmoid_of_every_fold_and_the_empirical_dots():
    score, proba, y = scored()
    fold = np.arange(400) % 3
    figure = paper_figures.platt_fits({"a": (score, proba, y, fold), "b": (score, proba, y, fold)})
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b"]
    for ax in figure.axes:
        *curves, dots = ax.lines
        for k, curve in enumerate(curves):
            here = np.sort(score[fold == k])
            assert np.array_equal(curve.get_xdata(), here)
            assert curve.get_ydata() == pytest.approx(1 / (1 + np.exp(-here)))
        assert len(curves) == 3
        expected = paper_figures.empirical_probability(score, y)
        assert np.array_equal(dots.get_xydata().T, expected)
        assert len(dots.get_xdata()) == 20
        assert legend(ax.get_legend()) == ["Platt's sigmoid, one a fold", "empirical"]
        assert ax.get_xlim() == pytest.approx(np.quantile(score, [0.002, 0.998]))
        assert ax.get_ylim() == (0, 1)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("score", "P(y = +1 | x)")
        assert not ax.spines["top"].get_visible()


def test_probabilities_beside_the_empirical_dots():
    score, proba, y = scored()
    (ax,) = paper_figures.ebb_fit("wisconsin", score, proba, y).axes
    dots, marks = ax.lines
    assert np.array_equal(dots.get_xydata().T, paper_figures.empirical_probability(score, y))
    assert np.array_equal(marks.get_xydata().T, (score, proba))
    assert (ax.get_title(loc="left"), ax.get_xlabel()) == ("wisconsin", "mean score of the members")
    assert legend(ax.get_legend()) == ["empirical", "EBB, records not seen"]


def test_votes_of_several_ensembles_have_one_range():
    scores = {"few": np.array([1.0, 3.0]), "many": np.array([1.0, 2.0, 5.0])}
    figure = paper_figures.vote_histograms(scores, "title")
    assert figure.get_suptitle() == "title"
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["few", "many"]
    for ax, n in zip(figure.axes, (2, 3), strict=True):
        assert ax.get_xlim() == pytest.approx((-0.25, 5.25))  # from the threshold 0 to 5
        assert sum(bar.get_height() for bar in ax.patches) == n


@pytest.mark.parametrize(("threshold", "ends"), [(-2.0, (-2.0, 3.0)), (4.0, (-1.0, 4.0))])
def test_votes_at_two_thresholds(threshold, ends):
    scores = {"one": np.array([-1.0, 3.0]), "other": np.array([-1.0, 1.0, 3.0])}
    figure = paper_figures.moved_thresholds(scores, threshold)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    moved = f"CEBB1: threshold at {threshold:.2f}"
    assert titles == [
        "one, EBB: threshold at 0.00",
        "other, EBB: threshold at 0.00",
        f"one, {moved}",
        f"other, {moved}",
    ]
    places = [ax.lines[0].get_xdata()[0] for ax in figure.axes]
    assert places == [0, 0, threshold, threshold]
    for ax in figure.axes:
        assert ax.get_xlim() == pytest.approx((ends[0] - 0.25, ends[1] + 0.25))
    far = paper_figures.moved_thresholds({"one": np.array([2.0, 3.0])}, 1.0)
    assert far.axes[0].get_xlim() == pytest.approx((-0.15, 3.15))
    far = paper_figures.moved_thresholds({"one": np.array([-2.0, -3.0])}, -1.0)
    assert far.axes[0].get_xlim() == pytest.approx((-3.15, 0.15))


def compared(n_datasets):
    columns = ["tpr_0", "tpr_0.5", "tpr_0.9"]
    rows = [
        Row(f"d{k}", method, {"tpr_0": Entry(k / 10, 0, 0.5, 0), "tpr_0.9": Entry(0.7, 0, 0.8, 0)})
        for k in range(n_datasets)
        for method in ("cebb1", "cebb2")
    ]
    return ComparedTable(3, columns, rows, [])


@pytest.mark.parametrize(("n", "shape"), [(1, (1, 1)), (5, (1, 5)), (7, (2, 5))])
def test_errors_against_the_wanted_rate(n, shape):
    figure = paper_figures.errors_by_target(compared(n), "title")
    assert figure.get_suptitle() == "title"
    grid = figure.axes[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == shape
    shown = [ax for ax in figure.axes if ax.axison]
    assert [ax.get_title(loc="left") for ax in shown] == [f"d{k}" for k in range(n)]
    for k, ax in enumerate(shown):
        values = {line.get_label(): line.get_ydata() for line in ax.lines}
        for method in ("CEBB1", "CEBB2"):
            np.testing.assert_array_equal(values[f"{method}, ours"], [k / 10, np.nan, 0.7])
            np.testing.assert_array_equal(values[f"{method}, paper"], [0.5, np.nan, 0.8])
        assert ax.lines[0].get_xdata().tolist() == [0, 0.5, 0.9]
        assert len({line.get_color() for line in ax.lines}) == 2
        hollow = [line.get_markerfacecolor() == "none" for line in ax.lines]
        assert hollow == [False, True, False, True]
        assert ax.get_ylim() == (0, 1)
        assert ax.get_xticks().tolist() == [0, 0.5, 1]
        assert not ax.spines["top"].get_visible()
        assert ax.get_ylabel() == ("MSE" if k % 5 == 0 else "")
        last = k + shape[1] >= n
        assert ax.get_xlabel() == ("requested TPR" if last else "")
    names = [f"{method}, {which}" for method in ("CEBB1", "CEBB2") for which in ("ours", "paper")]
    assert legend(figure.legends[0]) == names


def test_bars_stand_in_pairs_with_a_name():
    (ax,) = paper_figures.instances(np.array([0, 1]), np.array([0.25, 1.0]), "title").axes
    left = [bar.get_x() for bar in ax.patches]
    width = ax.patches[0].get_width()
    for k in (0, 1):
        actual, predicted = left[k], left[2 + k]
        assert actual + width <= k <= predicted
        assert actual + width <= predicted
        assert k - 0.5 < actual
        assert predicted + width < k + 0.5
    assert [text.get_text() for text in ax.get_xticklabels()] == ["i1", "i2"]
    assert ax.get_xticks().tolist() == [0, 1]
    assert [line.get_ydata()[0] for line in ax.lines] == [0, 0.5]
    assert (ax.get_title(loc="left"), ax.get_ylim()) == ("title", (0, 1))
    assert legend(ax.get_legend()) == ["actual", "predicted"]
    assert ax.get_ylabel() == "P(y = −1 | x)"
    assert not ax.spines["top"].get_visible()
