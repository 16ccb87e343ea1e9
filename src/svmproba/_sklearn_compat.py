"""What is not public in every scikit-learn from 1.6 on: one module, a fallback each."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, NamedTuple

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Give the method back: this scikit-learn has no callbacks."""
        return method


__all__ = [
    "NOT_FITTED_STATE",
    "CallbackSupportMixin",
    "DocLinkMixin",
    "EncoderState",
    "callback_context",
    "encoder_state",
    "has_callbacks",
    "input_places",
    "with_callbacks",
]

#: Attributes that concern fits to come, or that scikit-learn sets anew. A name that a version lacks
#: is a name that no estimator has.
NOT_FITTED_STATE = (
    "_skl_callbacks",
    "_parent_callback_ctx",
    "_metadata_request",
    "_sklearn_version",
)


def callback_context(estimator: Any, n_subtasks: int) -> Any:
    """Begin to report a fit of so many parts to the callbacks; None where there are none."""
    begin = getattr(estimator, "_init_callback_context", None)
    return None if begin is None else begin(max_subtasks=n_subtasks)


def has_callbacks(estimator: Any) -> bool:
    """Whether callbacks are set; without them single bags are not reported."""
    return hasattr(estimator, "_skl_callbacks")


@cache
def guide_address() -> str:
    """Address of the guide, as the installed package states it; empty where it states none."""
    try:
        urls = metadata("svmproba").get_all("Project-URL", [])
    except PackageNotFoundError:
        return ""
    found = dict(url.split(", ", 1) for url in urls).get("Documentation", "")
    return "" if "OWNER" in found else found  # before the first release


class DocLinkMixin:
    """The diagram of an estimator in notebooks links to its page in our guide."""

    def _get_doc_link(self) -> str:
        home, name = type(self).__module__.partition(".")[0], type(self).__name__
        ours = home == "svmproba" and guide_address()
        return f"{guide_address()}/generated/svmproba.{name}.html" if ours else ""


class EncoderState(NamedTuple):
    """What a fitted OneHotEncoder computes with, one entry for each column."""

    mappings: list[Any]
    infrequent: list[Any]
    drops: list[Any]
    widths: list[Any]


def encoder_state(encoder: Any) -> EncoderState | None:
    """State of a OneHotEncoder that its public attributes do not show; None where it is unknown."""
    nothing = [None] * len(encoder.categories_)
    try:
        rare = bool(encoder._infrequent_enabled)
        drops = encoder._drop_idx_after_grouping
        return EncoderState(
            encoder._default_to_infrequent_mappings if rare else nothing,
            encoder._infrequent_indices if rare else nothing,
            nothing if drops is None else list(drops),
            encoder._n_features_outs,
        )
    except AttributeError:
        return None


def input_places(transformer: Any) -> dict[str, list[int]]:
    """Places of the columns that every part of a fitted ColumnTransformer reads, by its name."""
    known = getattr(transformer, "_transformer_to_input_indices", None)
    if known is None:
        names = list(getattr(transformer, "feature_names_in_", ()))
        every = np.arange(transformer.n_features_in_)
        known = {
            name: np.atleast_1d(every[_as_index(columns, names)])
            for name, _, columns in transformer.transformers_
        }
    return {name: [int(place) for place in places] for name, places in known.items()}


def _as_index(columns: Any, names: list[str]) -> Any:
    """Index of columns that are given by place, by name or by a mask."""
    if isinstance(columns, str):
        return names.index(columns)
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        start = names.index(start) if isinstance(start, str) else start
        # Slices of names include their end.
        stop = names.index(stop) + 1 if isinstance(stop, str) else stop
        return slice(start, stop, columns.step)
    if np.ndim(columns) == 0:
        return columns
    if len(columns) == 0:
        return np.empty(0, dtype=np.intp)
    named = isinstance(columns[0], str)
    return [names.index(column) for column in columns] if named else columns
