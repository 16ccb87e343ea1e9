"""The report: one HTML page about a model."""

from svmproba.evaluation.report._page import report_html, write_report

__all__ = ["report_html", "write_report"]
