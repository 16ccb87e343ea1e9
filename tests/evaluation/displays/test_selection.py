import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import RateFeatureSelector
from svmproba.evaluation import SelectionDisplay

pytestmark = pytest.mark.usefixtures("closed_figures")


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_bars_are_sorted_and_coloured():
    display = SelectionDisplay.from_frequencies(
        [0.1, 0.9, 0.4],
        limits=[[0.0, 0.8, 0.3], [0.2, 1.0, 0.5]],
        names=["a", "b", "c"],
        chosen=[False, True, False],
    )
    assert labels(display) == ["b", "c", "a"]
    assert [bar.get_width() for bar in display.bars_] == [0.9, 0.4, 0.1]
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert colors[0] != colors[1] == colors[2]
    (lines,) = display.bars_.errorbar.lines[2]
    ends = [segment[:, 0].tolist() for segment in lines.get_segments()]
    np.testing.assert_allclose(ends, [[0.8, 1.0], [0.3, 0.5], [0.0, 0.2]])


def test_only_the_most_frequent_are_drawn():
    display = SelectionDisplay.from_frequencies(np.linspace(0, 1, 50), max_columns=3)
    assert labels(display) == ["x49", "x48", "x47"]


def test_selectors_and_pipelines(data):
    X, y = data
    selector = RateFeatureSelector(0.6, 0.6, n_bootstraps=10, random_state=0)
    pipeline = make_pipeline(StandardScaler(), selector).fit(X, y)
    display = SelectionDisplay.from_estimator(pipeline)
    assert labels(display)[0] == "x0"
    np.testing.assert_allclose(display.frequency, pipeline[-1].selection_frequency_)


def test_bad_input_is_named(data):
    with pytest.raises(ValueError, match="must have selection_frequency_"):
        SelectionDisplay.from_estimator(RateFeatureSelector(0.6, 0.6).fit(*data))
    with pytest.raises(ValueError, match="1-D with values"):
        SelectionDisplay.from_frequencies([0.5, 1.5])
    with pytest.raises(ValueError, match="names must hold 2 names, got 1"):
        SelectionDisplay.from_frequencies([0.5, 0.5], names=["a"])
