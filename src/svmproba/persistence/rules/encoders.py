"""Checks of a fitted OneHotEncoder, whose codes SciPy uses as places in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba._sklearn_compat import encoder_state
from svmproba.persistence._archive import Refused
from svmproba.persistence.rules.checks import array, maybe, refuse, whole, within


def check_encoder(encoder: Any) -> None:
    """Check that no category is encoded beyond the columns: SciPy would write out of bounds."""
    state = encoder_state(encoder)
    if state is None:
        raise Refused("is a OneHotEncoder that cannot be checked with this scikit-learn")
    n, parts = len(encoder.categories_), [encoder.categories_, *state]
    refuse([len(part) for part in parts] != [n] * 5, "has attributes of different lengths")
    for categories, mapping, group, drop, width in zip(*parts, strict=True):
        refuse(not isinstance(categories, np.ndarray), "has categories_ that are not arrays")
        # Numbers are looked up by bisection.
        sorted_ = categories.dtype.kind in "OSU" or np.array_equal(
            categories, np.sort(categories), equal_nan=categories.dtype.kind == "f"
        )
        refuse(not sorted_, "has categories_ that do not increase")
        n_codes = len(categories)
        refuse(
            (mapping is None) != (group is None),
            "has infrequent categories and mappings that differ",
        )
        if mapping is not None:
            array("i", n_codes, be="not negative")(mapping, {})
            n_codes = int(mapping.max(initial=-1)) + 1
        within("._drop_idx_after_grouping", maybe(whole(0, n_codes - 1)), drop, {})
        within("._n_features_outs", whole(n_codes - (drop is not None)), width, {})
