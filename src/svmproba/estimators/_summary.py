"""A fitted bootstrap ensemble in a few lines, for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np


def training_size(ensemble: Any) -> str:
    """Tell on how many records an ensemble was trained."""
    if getattr(ensemble, "oob_records_", None) is None:
        return f"{ensemble.counts_.shape[1]} records"
    return f"{ensemble.n_subsets_} subsets of {ensemble.subset_size_} records"


class SummaryMixin:
    """HTML of an estimator: scikit-learn's diagram and, once fitted, what the fit came to."""

    def _summary(self: Any) -> list[str]:
        """Sentences on a fitted model."""
        n_theta, n_bags = self.intercept_.shape
        gaps = self.duality_gap_[np.isfinite(self.duality_gap_)]
        largest = f"; largest certified gap {gaps.max():.1e}" if len(gaps) else ""
        rates = {"TPR": self.oob_tpr_, "TNR": self.oob_tnr_, "accuracy": self.oob_score_}
        known = ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items() if rate == rate)
        kind = "vote shares" if self.calibrator_ is None else "calibrated"
        return [
            f"{n_bags} bags × {n_theta} hyperparameter values = {n_bags * n_theta} machines on "
            f"{training_size(self)}{largest}.",
            f"Out of bag, {self.pos_label_!s} being positive: {known or 'rates not known'}. "
            f"Probabilities: {kind}.",
            self.guarantee_,
        ]

    def _repr_html_inner(self) -> str:
        html: str = super()._repr_html_inner()  # type: ignore[misc]
        if not hasattr(self, "guarantee_"):
            return html
        lines = "".join(f"<li>{escape(line)}</li>" for line in self._summary())
        return f"{html}<ul>{lines}</ul>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        # Jupyter asks for the bundle, others for the HTML: both get the same.
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
