"""The picture of a comparison."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from svmproba.cli.comparison import LABELS, MethodResult
from svmproba.cli.output.picture import draw_comparison
from svmproba.preparation.performance import summarise, summarise_classes


@pytest.mark.parametrize("n_methods", [1, 3, 4, 8])
def test_one_panel_of_errors_and_one_of_each_method(n_methods, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: drawn.append(figure))
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(2, size=80)]
    results = []
    for method in list(LABELS)[:n_methods]:
        proba = rng.uniform(size=80)
        summary = summarise((y == "yes").astype(int), proba, np.arange(80) % 4)
        results.append(MethodResult(method, proba, summary, 1.0, 2.0))
    draw_comparison(results, y, "yes", tmp_path / "picture.png")
    errors, *panels = [ax for ax in drawn[0].axes if ax.get_visible()]
    assert len(panels) == n_methods
    places = sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in errors.lines[::3])
    expected = sorted((r.summary.mse, n_methods - 1 - k) for k, r in enumerate(results))
    np.testing.assert_allclose(places, expected)
    names = [label.get_text().replace("\n", " ") for label in errors.get_yticklabels()]
    titles = [ax.get_title().replace("\n", " ") for ax in panels]
    assert titles == names == [LABELS[r.method] for r in results]
    assert errors.get_yticks().tolist() == list(range(n_methods))[::-1]
    low, high = errors.get_ylim()
    assert -1 < low < 0
    assert n_methods - 1 < high < n_methods
    assert errors.get_xlabel()
    assert not errors.spines["top"].get_visible()
    grid = panels[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == {1: (1, 2), 3: (1, 4), 4: (2, 3), 8: (3, 3)}[n_methods]
    assert all(ax.get_legend() is None for ax in panels)
    ours = {r.summary.mse: r.method == "fit" or "ebb" in r.method for r in results}
    colors = {ours[line.get_xdata()[0]]: line.get_color() for line in errors.lines[::3]}
    assert len(set(colors.values())) == len(set(ours.values()))


def test_every_class_against_the_rest_in_one_diagram(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: drawn.append(figure))
    rng = np.random.default_rng(0)
    label, P = rng.integers(3, size=60), rng.dirichlet(np.ones(3), 60)
    summary = summarise_classes(label, P)
    results = [MethodResult("platt", P, summary, 1.0, 2.0)]
    draw_comparison(results, np.array(["a", "b", "c"])[label], None, tmp_path / "picture.png")
    errors, panel = [ax for ax in drawn[0].axes if ax.get_visible()]
    assert errors.lines[0].get_xdata()[0] == summary.brier
    assert errors.get_xlabel() == "Brier score ± s.e."
    assert panel.get_xlabel() == "predicted probability of a class"
    # Of all 180 pairs of a record and a class, a third are right.
    truth, proba = np.eye(3)[label].ravel(), P.ravel()
    places = np.minimum((proba * 10).astype(int), 9)
    shares = [truth[places == k].mean() for k in range(10) if np.any(places == k)]
    heights = [line.get_ydata() for line in panel.lines if len(line.get_ydata()) == len(shares)]
    assert any(np.allclose(sorted(found), sorted(shares)) for found in heights)
