"""Costs of right and wrong calls, as the command line has them, and the rule that decides."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.cli.errors import InputError
from svmproba.evaluation.costs import cheapest_calls

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NAMES = ("fn", "fp", "tp", "tn")


@dataclass(frozen=True)
class Costs:
    """Cost of a missed positive, a false alarm, a rightly called positive and negative."""

    fn: float = 1.0
    fp: float = 1.0
    tp: float = 0.0
    tn: float = 0.0

    def by_name(self) -> dict[str, float]:
        """Arguments of `svmproba.evaluation.mean_cost` and the like."""
        return {f"{name}_cost": getattr(self, name) for name in NAMES}

    def expected(self, proba: Floats, called: Bools) -> Floats:
        """Tell the expected cost of each call."""
        if_called = proba * self.tp + (1 - proba) * self.fp
        if_not = proba * self.fn + (1 - proba) * self.tn
        return np.where(called, if_called, if_not)

    def to_dict(self) -> dict[str, float]:
        """Return the same as JSON has it."""
        return asdict(self)


def parse_costs(text: str | None) -> Costs | None:
    """Read ``fn=500,fp=20``; ``tp`` and ``tn`` may be given too.

    Parameters
    ----------
    text : str or None

    Returns
    -------
    Costs or None

    Examples
    --------
    >>> from svmproba.cli.costs import parse_costs
    >>> parse_costs("fn=500,fp=20")
    Costs(fn=500.0, fp=20.0, tp=0.0, tn=0.0)
    """
    if text is None:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if name not in NAMES or not math.isfinite(found[name]):
            raise InputError(
                f"--costs must be like fn=500,fp=20, with names of {', '.join(NAMES)}; got {text!r}"
            )
    if not {"fn", "fp"} <= set(found):
        raise InputError(f"--costs must tell both fn and fp; got {text!r}")
    costs = Costs(**found)
    if costs.fn + costs.fp <= costs.tp + costs.tn:
        raise InputError(f"--costs: wrong calls must cost more than right ones; got {text!r}")
    return costs


def call(proba: Floats, cut: float, costs: Costs | None, wants_rate: bool) -> Bools:
    """Call records positive: at the cut, or where it costs less if only costs were given.

    Parameters
    ----------
    proba : ndarray of shape (n,)
        Probability of the class of interest.
    cut : float
        The model's.
    costs : Costs or None
    wants_rate : bool
        Whether a rate was asked for: the cut that reaches it then decides, not the costs.

    Returns
    -------
    ndarray of bool of shape (n,)
    """
    if costs is None or wants_rate:
        return np.asarray(proba >= cut)
    return cheapest_calls(proba, **costs.by_name())


def rule_in_words(about: dict[str, Any], cut: float) -> str:
    """Say by which rule records are called positive."""
    positive, costs = about["positive"], about["costs"]
    if about["wants_rate"] or costs is None:
        how = "the cut that reaches the rate" if about["wants_rate"] else "the usual cut"
        return f"{positive!r} from probability {cut:.3g} on, {how}"
    alarm, miss = costs["fp"] - costs["tn"], costs["fn"] - costs["tp"]
    return f"{positive!r} from probability {alarm / (alarm + miss):.3g} on: the cheaper call"
