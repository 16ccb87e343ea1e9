"""The columns of a table that the encoded columns of a pipeline come from."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from svmproba.evaluation._classifiers import last_step


def column_names(model: Any, n: int) -> list[str]:
    """Names of the ensemble's input columns, without the prefix of their transformer."""
    names: Any = getattr(last_step(model), "feature_names_in_", None)
    if isinstance(model, Pipeline) and len(model) > 1:
        # Some steps have no names for their columns.
        with contextlib.suppress(AttributeError, ValueError):
            names = model[:-1].get_feature_names_out()
    if names is None or len(names) != n:
        return [f"column {j + 1}" for j in range(n)]
    short = [str(name).split("__", 1)[-1] for name in names]
    return short if len(set(short)) == n else [str(name) for name in names]


def original_columns(model: Any) -> list[str]:
    """Name of the table's column that each input column of the ensemble comes from, if known."""
    n = last_step(model).n_features_in_
    encoded = column_names(model, n)
    if not isinstance(model, Pipeline) or len(model) == 1:
        return encoded
    n_given = model.n_features_in_
    given = list(getattr(model, "feature_names_in_", [f"x{j}" for j in range(n_given)]))
    owners = _follow(model[:-1], np.arange(n_given))
    if owners is None or len(owners) != n:
        return encoded
    return [str(given[k]) if k >= 0 else name for k, name in zip(owners, encoded, strict=True)]


def _follow(step: Any, owners: Any) -> Any:
    """Owner of each output column, -1 where it is not known; None where not even their number."""
    if step in (None, "passthrough"):
        return owners
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            owners = None if owners is None else _follow(part, owners)
        return owners
    if isinstance(step, ColumnTransformer):
        return _follow_parts(step, owners)
    if isinstance(step, OneHotEncoder):
        return np.repeat(owners, _widths(step))
    if isinstance(step, SimpleImputer) and not step.add_indicator:
        # Columns without any value are left out.
        return owners if step.keep_empty_features else owners[_has_values(step)]
    if isinstance(step, SelectorMixin):
        return owners[step.get_support()]
    if isinstance(step, OneToOneFeatureMixin):
        return owners
    with contextlib.suppress(AttributeError, ValueError):
        return np.full(len(step.get_feature_names_out()), -1)
    return None


def _follow_parts(step: ColumnTransformer, owners: Any) -> Any:
    found = np.full(max((part.stop for part in step.output_indices_.values()), default=0), -1)
    names = getattr(step, "feature_names_in_", None)
    for name, part, columns in step.transformers_:
        places = _places(columns, names, len(owners))
        # A step without columns is not fitted.
        if places is None or not len(places) or (isinstance(part, str) and part == "drop"):
            continue
        own, output = _follow(part, owners[places]), step.output_indices_[name]
        if own is not None and len(own) == output.stop - output.start:
            found[output] = own
    return found


def _places(columns: Any, names: Any, n: int) -> Any:
    """Positions of the columns of a transformer; None for a slice of names."""
    if isinstance(columns, slice):
        ends = {type(end) for end in (columns.start, columns.stop)}
        return None if str in ends else np.arange(n)[columns]
    listed = np.atleast_1d(np.asarray(columns, dtype=None if len(columns) else np.intp))
    if listed.dtype.kind in "OUT":
        place = {name: k for k, name in enumerate(() if names is None else names)}
        return np.array([place[name] for name in listed])
    return np.arange(n)[listed]


def _widths(encoder: OneHotEncoder) -> list[int]:
    """Tell how many columns each category column becomes."""
    rare = getattr(encoder, "infrequent_categories_", [None] * len(encoder.categories_))
    dropped = [None] * len(rare) if encoder.drop_idx_ is None else encoder.drop_idx_
    return [
        len(categories) - (0 if few is None else len(few) - 1) - (drop is not None)
        for categories, few, drop in zip(encoder.categories_, rare, dropped, strict=True)
    ]


def _has_values(step: SimpleImputer) -> Any:
    return np.array([value == value for value in step.statistics_])
