"""Checks of parameters, shared by all estimators.

Every error names the parameter, the value and what is allowed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from svmproba._types import Floats
from svmproba.bootstrap.summaries.reliability import MEASURES
from svmproba.links._choose import LINKS
from svmproba.solvers.kernels import Rows, check_kernel, resolve_gamma
from svmproba.solvers.runtime.devices import resolve_device

P = ParamSpec("P")

PAPER_CS: Floats = np.exp2(np.arange(-5.0, 6.0))
#: Smallest and largest C; see `svmproba.estimators.input.samples.LARGEST`.
C_RANGE = (1e-50, 1e50)

#: Parameters of scikit-learn's SVC that are called otherwise here, or are not needed.
OF_SVC = {
    "C": "it is called Cs here and takes one value or a list of them",
    "gamma": "it is called gammas here and takes one value or a list of them",
    "probability": "leave it out, predict_proba is always there",
}


def stores_parameters(init: Callable[P, None]) -> Callable[P, None]:
    """Let ``__init__`` store its parameters, and explain those of scikit-learn's SVC it lacks."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def store(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in OF_SVC.keys() & kwargs.keys() - signature.parameters.keys():
            raise TypeError(
                f"{type(args[0]).__name__} got an unexpected keyword argument {name!r}: "
                f"{OF_SVC[name]}."
            )
        init(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        estimator, *parameters = given.arguments.items()
        vars(estimator[1]).update(parameters)

    return store


def check_integer(name: str, value: object, minimum: int, allowed: str = "an integer") -> None:
    """Refuse anything but an integer not below the minimum."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be {allowed} >= {minimum}, got {value!r}.")


def check_number(name: str, value: object, low: float, high: float, allowed: str) -> None:
    """Refuse anything but a real number in [low, high]; NaN is in no interval."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")


def check_confidence(confidence: object) -> None:
    """Refuse anything but a number between 0 and 1, both excluded."""
    least = np.finfo(np.float64).tiny
    check_number("confidence", confidence, least, 1 - 1e-16, "a number in (0, 1)")


def check_option(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse anything but one of the names."""
    if not isinstance(value, str) or value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")


def check_Cs(Cs: ArrayLike | None) -> Floats:
    """Distinct values of C in increasing order; None gives the paper's grid."""
    if Cs is None:
        return PAPER_CS.copy()
    try:
        grid = np.atleast_1d(np.asarray(Cs, dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or grid.size == 0 or not np.all((grid > 0) & np.isfinite(grid)):
        raise ValueError(
            f"Cs must be a positive finite number or a non-empty list of such, got {Cs!r}."
        )
    refused = grid[(grid < C_RANGE[0]) | (grid > C_RANGE[1])]
    if refused.size:
        raise ValueError(
            f"Cs must lie between {C_RANGE[0]:g} and {C_RANGE[1]:g}, got {refused[0]:.4g}."
        )
    return np.unique(grid)


def is_auto(wish: Any) -> bool:
    """Whether a parameter is the word "auto"; an array is not compared with it."""
    return isinstance(wish, str) and wish == "auto"


def is_search(gammas: Any, kernel: Any) -> bool:
    """Whether the fit looks for a gamma."""
    return is_auto(kernel) if gammas is None else isinstance(gammas, str) and gammas == "search"


def check_grid_parameters(estimator: Any, may_be_auto: bool = False) -> Floats:
    """Check what all estimators with a grid have in common; gives the values of C.

    With `may_be_auto` the number of landmarks may be left to the fit.
    """
    for kernel in check_kernels(estimator.kernel):
        check_kernel(kernel, estimator.degree, estimator.coef0)
    check_number("tol", estimator.tol, np.finfo(np.float64).tiny, 1, "a number in (0, 1]")
    wish = estimator.n_components
    if wish is not None and not (may_be_auto and is_auto(wish)):
        allowed = "None, 'auto' or an integer" if may_be_auto else "None or an integer"
        check_integer("n_components", wish, 1, allowed)
    jobs = estimator.n_jobs
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, Integral) or not jobs):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {jobs!r}.")
    return check_Cs(estimator.Cs)


def check_ensemble_parameters(estimator: Any) -> Floats:
    """Check what can be checked without data; gives the values of C."""
    check_integer("n_bootstraps", estimator.n_bootstraps, 1)
    check_number("epsilon", estimator.epsilon, 0, np.inf, "a number >= 0, infinity included")
    check_option("reliability", estimator.reliability, MEASURES)
    check_calibration(estimator.calibration)
    resolve_device(estimator.device)
    return check_grid_parameters(estimator, may_be_auto=True)


def check_calibration(calibration: object) -> None:
    """Refuse a link that does not exist; None is vote shares."""
    if calibration is not None:
        check_option("calibration", calibration, LINKS)


def check_kernels(kernel: Any) -> list[str]:
    """Kernels of an ensemble, each once, in the order given."""
    if isinstance(kernel, str):
        return ["linear", "rbf"] if kernel == "auto" else [kernel]
    if not isinstance(kernel, list | tuple):
        return [kernel]
    if not kernel or (len(kernel) > 1 and "precomputed" in kernel):
        raise ValueError(
            f"kernel must be a name or a non-empty list of names, 'precomputed' only by itself, "
            f"got {kernel!r}."
        )
    return list(dict.fromkeys(kernel))


def check_gammas(gammas: Any, kernel: str, X: Rows, weight: Floats | None = None) -> Floats:
    """Distinct gammas, increasing, one NaN for a kernel without; weights are multiplicities."""
    if kernel in ("linear", "precomputed"):
        return np.array([np.nan])
    values = [gammas] if isinstance(gammas, (str, Real)) else gammas
    try:
        grid = np.unique([resolve_gamma(value, X, weight) for value in values])
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.size == 0:
        raise ValueError(
            f"gammas must be 'scale', 'auto', a positive finite number or a non-empty list of "
            f"such (in ensembles also None or 'search'), got {gammas!r}."
        )
    return grid


def as_generator(random_state: Any) -> np.random.Generator:
    """Make a generator from scikit-learn's ``random_state``."""
    entropy = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(entropy)
