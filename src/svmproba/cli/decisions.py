"""What is written about each record: probabilities, limits, the decision and its expected cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from svmproba._types import Floats, Ints
from svmproba.bootstrap.classes.fitted import called_classes
from svmproba.cli.costs import CostMatrix, Costs
from svmproba.estimators.shared.costs import expected_cost


class Decided(NamedTuple):
    """Columns of some records, and the places of the classes that they are called."""

    columns: list[Any]
    called: Ints


class Decisions:
    """Columns of decisions by a fitted ensemble; `fields` are their names and types.

    Of two classes, the probability of the class of interest is written; of more, that of each.
    """

    def __init__(
        self, svm: Any, about: dict[str, Any], interval: str | None, confidence: float
    ) -> None:
        self._svm, self._about = svm, about
        self._interval, self._confidence = interval, confidence
        labels: list[Any] = svm.classes_.tolist()
        self._plus = None if about["positive"] is None else labels.index(about["positive"])
        self._labels = pa.array(labels, pa.int64() if isinstance(labels[0], int) else pa.string())
        names = ["probability"] + ["low", "high"] * (interval is not None)
        if self._plus is None:
            names = [f"{name}_{label}" for name in names for label in labels]
        self.fields: list[tuple[str, Any]] = [(name, pa.float64()) for name in names]
        self.fields.append(("decision", self._labels.type))
        if about["costs"] is not None:
            self.fields.append(("expected_cost", pa.float64()))

    def decide(self, rows: Any) -> Decided:
        """Decide on records."""
        P = self._svm.predict_proba(rows)
        if self._plus is None:
            shown, called = P.T, called_classes(self._svm.ensemble_, P)
        else:
            shown = P[:, [self._plus]].T
            chosen = shown[0] >= self._svm.proba_threshold_
            called = np.where(chosen, self._plus, 1 - self._plus)
        columns = list(np.ascontiguousarray(shown))
        if self._interval is not None:
            fixed = (rows, self._confidence)
            limits = self._svm.predict_proba_interval(*fixed, kind=self._interval)
            columns += list(np.ascontiguousarray(limits.T).reshape(-1, len(P)))
        columns.append(self._labels.take(pa.array(called)))
        if self._about["costs"] is not None:
            columns.append(self._expected_cost(P, called))
        return Decided(columns, called)

    def _expected_cost(self, P: Floats, called: Ints) -> Floats:
        costs = self._about["costs"]
        if self._plus is None:
            of_calls: Floats = P @ np.array(CostMatrix(**costs).matrix)
            return of_calls[np.arange(len(P)), called]
        return expected_cost(P[:, self._plus], called == self._plus, Costs(**costs).arguments())
