"""How many landmarks a kernel needs: twice as many until the probabilities stop improving."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.estimators._progress import listening
from svmproba.estimators.ensemble.setting import Checked
from svmproba.estimators.input.parameters import as_generator

#: Landmarks to begin with and at most, and bags of a pilot fit.
_FEWEST, _MOST, _N_BAGS = 50, 3200, 25
#: Share of the Brier score that twice the landmarks must take away.
_GAIN = 0.01


def try_components(
    pilot: Any, checked: Checked, verbose: int
) -> tuple[int, dict[str, NDArray[Any]]]:
    """Fit a few bags with more and more landmarks; gives their number and the steps to it.

    `pilot` is a `BootstrapSVC`, whose bags are the same in every step. The number is that of the
    last step, or of the step before where the last one gained little.
    """
    data = (checked.X, checked.y, checked.sample_weight, checked.groups)
    seed = int(as_generator(pilot.random_state).integers(2**31))
    pilot.set_params(n_bootstraps=_N_BAGS, calibration="platt", random_state=seed, verbose=0)
    most = min(_MOST, checked.X.shape[0])
    sizes, scores = [min(_FEWEST, most)], list[float]()
    while True:
        # A caller who counts bags waits for those of the fit, and warnings would be about few bags.
        with warnings.catch_warnings(), listening(lambda n_done: None):
            warnings.simplefilter("ignore")
            pilot.set_params(n_components=sizes[-1]).fit(*data)
        scores.append(_oob_brier(pilot, checked.y))
        if verbose:
            told = f"{sizes[-1]} landmarks: Brier score out of bag {scores[-1]:.5f}"
            print(f"{told} in {_N_BAGS} bags", file=sys.stderr)
        stops = len(scores) > 1 and scores[-1] > (1.0 - _GAIN) * scores[-2]
        if stops or sizes[-1] == most:
            path = {"n_components": np.array(sizes), "brier": np.array(scores)}
            return sizes[-2 if stops else -1], path
        sizes.append(min(2 * sizes[-1], most))


def _oob_brier(model: Any, y: NDArray[Any]) -> float:
    P = model.oob_proba_
    known = ~np.isnan(P).any(axis=1)
    right = y[known, np.newaxis] == model.classes_
    errors = np.square(P[known] - right).sum(axis=1)
    return float(errors.mean() / 2 if len(model.classes_) == 2 else errors.mean())
