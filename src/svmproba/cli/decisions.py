"""What is written about each record: probabilities, limits, the decision and its expected cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from svmproba._types import Floats, Ints
from svmproba.bootstrap.classes.fitted import called_classes
from svmproba.cli.costs import CostMatrix, Costs
from svmproba.estimators._costs import expected_cost


class Decided(NamedTuple):
    """Columns of some records, and the places of the classes that they are called."""

    columns: list[Any]
    called: Ints


class Decisions(ABC):
    """Columns of decisions by a fitted ensemble; `fields` are their names and types."""

    def __init__(
        self, svm: Any, about: dict[str, Any], interval: str | None, confidence: float
    ) -> None:
        self._svm, self._about = svm, about
        self._interval, self._confidence = interval, confidence
        labels: list[Any] = svm.classes_.tolist()
        self._labels = pa.array(labels, pa.int64() if isinstance(labels[0], int) else pa.string())
        self.fields: list[tuple[str, Any]] = [(name, pa.float64()) for name in self._names(labels)]
        self.fields.append(("decision", self._labels.type))
        if about["costs"] is not None:
            self.fields.append(("expected_cost", pa.float64()))

    @abstractmethod
    def _names(self, labels: list[Any]) -> list[str]:
        """Names of the columns of probabilities and limits."""

    @abstractmethod
    def decide(self, rows: Any) -> Decided:
        """Decide on records."""

    def _limits(self, rows: Any) -> Floats:
        found: Floats = self._svm.predict_proba_interval(
            rows, self._confidence, kind=self._interval
        )
        return found


class TwoClasses(Decisions):
    """The probability of the class of interest, and whether it is called."""

    def _names(self, labels: list[Any]) -> list[str]:
        return ["probability"] + ["low", "high"] * (self._interval is not None)

    def decide(self, rows: Any) -> Decided:
        """Decide on records."""
        plus = self._svm.classes_.tolist().index(self._about["positive"])
        proba = np.ascontiguousarray(self._svm.predict_proba(rows)[:, plus])
        chosen = proba >= self._svm.proba_threshold_
        called = np.where(chosen, plus, 1 - plus)
        columns: list[Any] = [proba]
        if self._interval is not None:
            columns += list(np.ascontiguousarray(self._limits(rows).T))
        columns.append(self._labels.take(pa.array(called)))
        if self._about["costs"] is not None:
            costs = Costs(**self._about["costs"]).arguments()
            columns.append(expected_cost(proba, chosen, costs))
        return Decided(columns, called)


class SeveralClasses(Decisions):
    """The probability of every class, and the class that is called."""

    def _names(self, labels: list[Any]) -> list[str]:
        kinds = ["probability"] + ["low", "high"] * (self._interval is not None)
        return [f"{kind}_{label}" for kind in kinds for label in labels]

    def decide(self, rows: Any) -> Decided:
        """Decide on records."""
        P = self._svm.predict_proba(rows)
        called = called_classes(self._svm.ensemble_, P)
        columns: list[Any] = list(np.ascontiguousarray(P.T))
        if self._interval is not None:
            lower_and_upper = np.moveaxis(self._limits(rows), 0, 2)  # (n_classes, 2, n)
            columns += [
                np.ascontiguousarray(limit) for k in (0, 1) for limit in lower_and_upper[:, k]
            ]
        columns.append(self._labels.take(pa.array(called)))
        if self._about["costs"] is not None:
            costs = np.array(CostMatrix(**self._about["costs"]).matrix)
            columns.append((P @ costs)[np.arange(len(P)), called])
        return Decided(columns, called)


def decisions_of(
    svm: Any, about: dict[str, Any], interval: str | None, confidence: float
) -> Decisions:
    """Choose the columns by the number of classes."""
    kind = SeveralClasses if about["positive"] is None else TwoClasses
    return kind(svm, about, interval, confidence)
