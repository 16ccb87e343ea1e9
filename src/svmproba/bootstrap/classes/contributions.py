"""What each column adds to the scores of several classes."""

from __future__ import annotations

import numpy as np

from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.contributions import Contributions, Rule, mean_rule


def class_rules(ensemble: FittedClasses) -> list[Rule]:
    """Rules of the class scores, each the mean of the scores against the other classes."""
    members = ensemble.members
    of_pairs = [
        mean_rule(of_pair, ensemble.weights / scales)
        for of_pair, scales in zip(members.of_pair, ensemble.score_scales, strict=True)
    ]
    found = []
    for k in range(members.n_classes):
        # The scores of a pair are positive for its second class.
        signed = [
            (1.0 if second == k else -1.0, rule)
            for (first, second), rule in zip(members.pairs, of_pairs, strict=True)
            if k in (first, second)
        ]
        coef, intercept, by_bag = (
            sum(sign * rule[i] for sign, rule in signed) / len(signed) for i in range(3)
        )
        found.append(Rule(np.asarray(coef), float(intercept), np.asarray(by_bag)))
    return found


def stack_classes(of_classes: list[Contributions]) -> Contributions:
    """Join the contributions to the scores of all classes along a last axis."""
    values, lower, upper, base = (
        np.stack([found[i] for found in of_classes], axis=-1) for i in range(4)
    )
    return Contributions(values, lower, upper, base, of_classes[0].names)
