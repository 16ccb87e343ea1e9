"""Costs of decisions, from the option ``--costs``."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from svmproba.cli.errors import InputError
from svmproba.estimators._costs import cost_threshold

NAMES = ("fn", "fp", "tp", "tn")


@dataclass(frozen=True)
class Costs:
    """Costs of a false negative, a false positive, a true positive and a true negative."""

    fn: float = 1.0
    fp: float = 1.0
    tp: float = 0.0
    tn: float = 0.0

    def by_name(self) -> dict[str, float]:
        """Keyword arguments of `with_costs`, `svmproba.evaluation.mean_cost` and the like."""
        return {f"{name}_cost": getattr(self, name) for name in NAMES}

    def to_dict(self) -> dict[str, float]:
        """Convert to JSON."""
        return asdict(self)


def parse_costs(text: str | None) -> Costs | None:
    """Read ``fn=500,fp=20``; ``tp`` and ``tn`` are optional."""
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
        raise InputError(f"--costs must give both fn and fp; got {text!r}")
    costs = Costs(**found)
    try:
        cost_threshold(costs.by_name())
    except ValueError as error:
        raise InputError(f"--costs: {str(error).replace('_cost', '')}") from error
    return costs


def rule_in_words(about: dict[str, Any], threshold: float) -> str:
    """Say which records are decided as positive."""
    how = ", the usual threshold" if about["costs"] is None else ", the least expected cost"
    how = ", the threshold that reaches the rate" if about["wants_rate"] else how
    return f"{about['positive']!r} from probability {threshold:.3g} on{how}"
