import numpy as np
import pandas as pd
import pytest
from PIL import Image

from svmproba.paper.comparison import collect
from svmproba.paper.data.datasets import load_dataset
from svmproba.paper.drawing import illustrate
from svmproba.paper.drawing.illustrate import FIGURES, Material, NotAtHand, draw_figures
from svmproba.paper.reproduce import Plan, run
from svmproba.paper.store import Store

PLAN = Plan(n_bootstraps=25, n_folds=3)
FAMILIES = ["ebb", "platt", "sollich"]


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    X, y = load_dataset("wisconsin")
    # A stand-in for churn: two overlapping classes, quick to fit.
    rng = np.random.default_rng(0)
    label = (np.arange(400) % 4 == 0).astype(np.int64)
    overlapping = pd.DataFrame(rng.normal(size=(400, 3)) + 0.8 * label[:, np.newaxis])
    overlapping.columns = ["a", "b", "c"]
    tables = {"wisconsin": (X, y), "churn": (overlapping, label)}
    with Store(tmp_path_factory.mktemp("store") / "r.sqlite") as store:
        assert run(PLAN, tables, FAMILIES, store) == {}
        yield Material(store, PLAN, tables, collect(store, PLAN, tables, FAMILIES), FAMILIES)


def test_all_figures_are_drawn(material, tmp_path):
    written, lacking = draw_figures(material, tmp_path / "new")
    assert lacking == {}
    assert [path.name for path in written] == [f"figure{number}.png" for number in FIGURES]
    assert sorted(FIGURES) == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    for path in written:
        with Image.open(path) as image:
            assert min(image.size) > 400
            assert len(np.unique(np.asarray(image.convert("L")))) > 20


def test_what_a_figure_lacks_is_told(material, tmp_path):
    bare = Material(material.store, PLAN, {}, {}, FAMILIES)
    written, lacking = draw_figures(bare, tmp_path)
    assert written == []
    assert lacking[1] == "platt on adult or wisconsin"
    assert lacking[6] == "the data set churn"
    only = Material(material.store, PLAN, material.tables, material.found, ["sollich"])
    with pytest.raises(NotAtHand, match="ebb on churn"):
        FIGURES[10](only)


def test_stored_outputs_are_in_the_order_of_the_records(material):
    proba, y, fold = material.outputs("wisconsin", "ebb", "ebb")
    np.testing.assert_array_equal(y, material.tables["wisconsin"][1])
    assert np.mean((y - proba) ** 2) == pytest.approx(
        material.found["wisconsin", "ebb"].summary.mse
    )
    assert np.bincount(fold.astype(int)).tolist() == [190, 190, 189]


def test_panels_show_as_many_members_as_they_say(material):
    figure = FIGURES[3](material)
    heights = [sum(bar.get_height() for bar in ax.patches) for ax in figure.axes]
    assert heights == [20]
    assert FIGURES[2](material).axes[0].get_title(loc="left") == "20 folds"
    few = Material(material.store, Plan(n_bootstraps=7), {}, {}, [])
    assert illustrate._sizes(few) == [7]


def test_the_moved_threshold_wins_two_churned_customers(material):
    axes = FIGURES[6](material).axes
    shares = [float(ax.texts[1].get_text().partition("%")[0]) for ax in axes]
    assert max(shares[:2]) < 50 < min(shares[2:])
    assert axes[0].get_xlim() == axes[2].get_xlim()


def test_the_doubtful_record_divides_the_members(material):
    model, rows, _ = material.held_out("wisconsin")
    row, scores = illustrate._doubtful_record(material)
    shares = (illustrate.best_theta_scores(model, rows) > 0).mean(axis=0)
    assert abs((scores > 0).mean() - 0.5) == np.abs(shares - 0.5).min()
    assert (rows == row).all(axis=1).any()


def test_figures_without_results(material, tmp_path):
    with Store(tmp_path / "empty.sqlite") as store:
        bare = Material(store, PLAN, material.tables, {}, FAMILIES)
        with pytest.raises(NotAtHand, match="ebb on wisconsin"):
            bare.outputs("wisconsin", "ebb", "ebb")
        with pytest.raises(NotAtHand, match="platt on adult or wisconsin"):
            FIGURES[1](bare)
        with pytest.raises(NotAtHand, match="CEBB1 or CEBB2 on some data set"):
            bare.compared(3)


def test_the_customers_won_are_the_least_agreed(material):
    model, rows, y = material.held_out("churn")
    scores = illustrate.best_theta_scores(model, rows)
    moved = model.with_rate(tpr=0.9)
    won = [
        k
        for k in np.flatnonzero(y == 1)
        if np.mean(scores[:, k] > 0) < 0.5 < np.mean(scores[:, k] > moved.threshold_)
    ]
    spread = sorted((scores[:, k].std() for k in won), reverse=True)
    assert len(won) > 2
    figure = FIGURES[6](material)
    ends = [ax.dataLim.intervalx for ax in figure.axes[:2]]
    for (low, high), place in zip(ends, (0, 1), strict=True):
        k = next(k for k in won if scores[:, k].std() == spread[place])
        assert low <= scores[:, k].min()
        assert scores[:, k].max() <= high
    names = [ax.get_title(loc="left").split(",")[0] for ax in figure.axes[:2]]
    assert names == ["One churned customer", "Another"]
    none = Material(material.store, PLAN, material.tables, {}, [])
    none._fits["churn"] = model, rows[y == 0], y[y == 0]
    with pytest.raises(NotAtHand, match="two churned customers"):
        FIGURES[6](none)


def test_titles_of_the_figures(material):
    titles = {number: FIGURES[number](material).get_suptitle() for number in (2, 3, 7, 8)}
    assert titles == {
        2: "One wisconsin record, SVMs of k folds",
        3: "The same record, SVMs of bootstrap bags",
        7: "Mean squared error of positives",
        8: "Mean squared error of negatives",
    }
    for number, method in ((9, "Sollich"), (10, "EBB")):
        (ax,) = FIGURES[number](material).axes
        assert ax.get_title(loc="left") == f"Ten records of churn, {method}"
        assert len(ax.get_xticks()) == 10
