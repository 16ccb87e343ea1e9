"""Fits of a few bags that find the number of landmarks and the gammas of an ensemble."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.estimators.ensemble.setting import Checked
from svmproba.estimators.input.parameters import as_generator, check_kernels, is_auto, is_search
from svmproba.estimators.shared.progress import listening
from svmproba.solvers.kernels import resolve_gamma

#: What was tried, by the name of the parameter, and "brier", its Brier score out of bag.
Path = dict[str, NDArray[Any]]

_N_BAGS = 25
#: Landmarks to begin with and at most, and the share of the Brier score that twice as many must
#: take away.
_FEWEST, _MOST, _GAIN = 50, 3200, 0.01
#: Gammas that are tried, in units of "scale", and the share of the Brier score that another one
#: must take away: it doubles the time of the fit. A wider kernel, of a smaller gamma, is nearly
#: linear and gained nothing beside linear SVMs on 41 tables.
_WIDER, _FACTORS, _GAIN_OF_GAMMA = 0.25, (1.0, 4.0, 16.0), 0.02


def searched_parameters(estimator: Any) -> set[str]:
    """Names of the parameters that are left to the fit and matter to a kernel."""
    kernels, found = set(check_kernels(estimator.kernel)) - {"linear"}, set()
    if kernels and is_auto(estimator.n_components):
        found.add("n_components")
    if kernels - {"precomputed"} and is_search(estimator.gammas, estimator.kernel):
        found.add("gammas")
    return found


class Pilot:
    """Ensembles of few bags, always the same, with the parameters of a `BootstrapSVC`.

    They have the kernels other than the linear one alone, and calibrated probabilities.
    """

    def __init__(self, model: Any, checked: Checked, verbose: int) -> None:
        kernels = check_kernels(model.kernel)
        self.factors = _FACTORS if "linear" in kernels else (_WIDER, *_FACTORS)
        kernels = [kernel for kernel in kernels if kernel != "linear"]
        seed = int(as_generator(model.random_state).integers(2**31))
        given = {"kernel": kernels, "gammas": checked.gammas, "random_state": seed, "verbose": 0}
        self._model = model.set_params(n_bootstraps=_N_BAGS, calibration="auto", **given)
        self._checked, self._verbose = checked, verbose

    def brier(self, **parameters: Any) -> float:
        """Brier score out of bag with other parameters."""
        _, X, y, weight, _, groups, *_ = self._checked
        # A caller who counts bags waits for those of the fit, and warnings would be about few bags.
        with warnings.catch_warnings(), listening(lambda n_more, n_bags: None):
            warnings.simplefilter("ignore")
            self._model.set_params(**parameters).fit(X, y, weight, groups)
        P = self._model.oob_proba_
        known = ~np.isnan(P).any(axis=1)
        right = y[known, np.newaxis] == self._model.classes_
        score = float(np.square(P[known] - right).sum(axis=1).mean())
        score = score / 2 if P.shape[1] == 2 else score
        if self._verbose:
            tried = ", ".join(f"{k}={x:.4g}" for k, x in parameters.items() if x is not None)
            print(f"{tried}: Brier score {score:.5f} out of {_N_BAGS} bags", file=sys.stderr)
        return score


def find_components(pilot: Pilot, n: int) -> tuple[int, Path]:
    """Double the number of landmarks until that gains little; gives the number and the steps.

    It is that of the last step, or of the step before where the last one gained little.
    """
    sizes, scores = [min(_FEWEST, n)], list[float]()
    while True:
        scores.append(pilot.brier(n_components=sizes[-1]))
        stops = len(scores) > 1 and scores[-1] > (1.0 - _GAIN) * scores[-2]
        if stops or sizes[-1] == min(_MOST, n):
            path = {"n_components": np.array(sizes), "brier": np.array(scores)}
            return sizes[-2 if stops else -1], path
        sizes.append(min(2 * sizes[-1], _MOST, n))


def find_gammas(pilot: Pilot, X: Any, n_components: int | None) -> tuple[list[Any], Path]:
    """Try narrower and wider kernels; gives "scale", and the best gamma if it gains enough."""
    gammas = resolve_gamma("scale", X) * np.array(pilot.factors)
    tried = [{"gammas": gamma, "n_components": n_components} for gamma in gammas.tolist()]
    scores = np.array([pilot.brier(**some) for some in tried])
    gains = scores.min() < (1.0 - _GAIN_OF_GAMMA) * scores[pilot.factors.index(1.0)]
    found = ["scale", float(gammas[scores.argmin()])] if gains else ["scale"]
    return found, {"gamma": gammas, "brier": scores}
