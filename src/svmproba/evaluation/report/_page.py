"""The page of a report: numbers put into the templates."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from svmproba._files import write_whole
from svmproba.bootstrap.fitted import NO_GUARANTEE
from svmproba.evaluation.report._class_figures import class_figures
from svmproba.evaluation.report._figures import report_figures
from svmproba.evaluation.report._formats import FORMATS
from svmproba.evaluation.report._records import ensemble_of

#: Figures that the script of the page reads.
LIVE = ("names", "n_plus", "n_minus", "present", "steps", "histogram", "costs")


def report_html(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    about: Mapping[str, Any] | None = None,
    title: str | None = None,
    by: Any = None,
) -> str:
    """Write an HTML page about a fitted bootstrap ensemble and some records.

    The page states what the model does at its current threshold and what is guaranteed, how good
    its probabilities are, what another target TPR would give (with a slider), which records are
    near the threshold and why, and which columns drive the score. It needs no network and works
    with the keyboard, on a phone and in print. Without JavaScript only the slider is missing.

    A target rate moves the threshold as ``model.with_rate(tpr=rate, exceed=False)`` does, by
    out-of-bag scores. The counts are those of the given records at that threshold; all of them are
    computed here, none by the page. Training records among the given ones are recognised and
    predicted by the bags that left them out.

    With more than two classes the page shows the counts, the recalls and precisions, the table of
    true and called classes, the errors of the probabilities and the reliability of each class
    against the rest; it has no slider, and `by` must be None.

    Parameters
    ----------
    model : BootstrapSVC, ThresholdBootstrapSVC or ConstrainedBootstrapSVC, fitted
        Or a pipeline that ends with one.
    X : table of shape (n, n_features)
        Records, preferably new to the model. For a pipeline, its raw input.
    y : array-like of shape (n,)
        Their labels; of a model of two classes, both of them.
    about : mapping, default=None
        What is known beyond the model: ``"costs"``, a mapping with ``"fn"`` and ``"fp"``, the
        cost of a missed record of the class of interest and of a false alarm (``"tp"`` and
        ``"tn"`` too, if right decisions have a cost), by default those of ``model.with_costs``;
        ``"target"``, the name of the target; ``"records"``, what records are called, such as
        ``"applicants"``; ``"warnings"``, sentences to show on the page. Other keys are ignored.
    title : str, default=None
        Title of the page.
    by : array-like of shape (n,), dict or DataFrame, default=None
        Subgroups of the records, as in :func:`rates_by_subgroup`: the page then shows the rates in
        each, and what it costs that each reaches the rate.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from svmproba import BootstrapSVC
    >>> from svmproba.evaluation import report_html
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BootstrapSVC([0.1], n_bootstraps=20, pos_label=0, random_state=0)
    >>> page = report_html(model.fit(scale(X), y), scale(X), y, about={"costs": {"fn": 9, "fp": 1}})
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    environment = _environment()
    if len(ensemble_of(model).classes_) > 2:
        if by is not None:
            raise ValueError("by needs two classes: subgroups are shown by the rates of a class.")
        figures = class_figures(model, X, y, about)
        return _render("classes.html", figures, title, figures["target"] or "classes")
    figures = report_figures(model, X, y, about, by)
    names, script = figures["names"], _trusted(environment, "report.js")
    digest = hashlib.sha256(script.encode()).digest()
    return _render(
        "report.html",
        {**figures, **_derived(figures)},
        title,
        names["target"] or names["positive"],
        script=script,
        script_hash=f"sha256-{base64.b64encode(digest).decode()}",
        payload=_payload({name: figures[name] for name in LIVE}),
    )


def _render(
    template: str, figures: dict[str, Any], title: str | None, predicted: str, **more: Any
) -> str:
    """Fill a template. Only style and script are not escaped: they hold no text of the user."""
    from svmproba import __version__

    environment, today = _environment(), datetime.date.today()
    page: str = environment.get_template(template).render(
        **figures,
        guaranteed=_is_guaranteed(figures["guarantee"]),
        title=title or f"Predicting {predicted}",
        css=_trusted(environment, "report.css"),
        version=__version__,
        date=f"{today.day} {today:%B %Y}",
        **more,
    )
    return page


def write_report(
    model: Any,
    X: Any,
    y: ArrayLike,
    path: str | Path,
    *,
    about: Mapping[str, Any] | None = None,
    title: str | None = None,
    by: Any = None,
    overwrite: bool = True,
) -> Path:
    """Write the page of :func:`report_html` to a file.

    Parameters
    ----------
    model, X, y, about, title, by
        As in :func:`report_html`.
    path : str or Path
        The file.
    overwrite : bool, default=True
        Whether an existing file may be replaced; if not, it raises FileExistsError.

    Returns
    -------
    Path
        The file.
    """
    page = report_html(model, X, y, about=about, title=title, by=by)
    file = Path(path)
    write_whole(file, page.encode(), overwrite=overwrite)
    return file


def _is_guaranteed(sentence: str) -> bool:
    return not sentence.startswith(NO_GUARANTEE.partition(":")[0])


@functools.cache
def _environment() -> Any:
    """Templates and the formats they use."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("the report needs jinja2: pip install 'svmproba[report]'") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("svmproba.evaluation.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= FORMATS
    return environment


def _trusted(environment: Any, name: str) -> Any:
    from markupsafe import Markup

    return Markup(environment.loader.get_source(environment, name)[0])


def _payload(figures: dict[str, Any]) -> Any:
    """JSON that cannot end the element it stands in."""
    from markupsafe import Markup

    text = json.dumps(figures, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _derived(figures: dict[str, Any]) -> dict[str, Any]:
    """Numbers of the page that are sums and quotients of the figures."""
    n_plus, n_minus, costs = figures["n_plus"], figures["n_minus"], figures["costs"]
    steps, present, names = figures["steps"], figures["present"], figures["names"]

    def cost(tp: int, fp: int) -> float:
        total: float = (n_plus - tp) * costs["fn"] + fp * costs["fp"]
        total += tp * costs["tp"] + (n_minus - fp) * costs["tn"]
        return 1000 * total / (n_plus + n_minus)

    every = [cost(tp, fp) for tp, fp in zip(steps["tp"], steps["fp"], strict=True)]
    own = cost(present["tp"], present["fp"])
    top, low = max(*every, own), min(*every, own, 0.0)

    def height(value: float) -> float:
        return 200 - 180 * (value - low) / ((top - low) or 1.0)

    start = present["tpr"][0] if present["oob_tpr"] is None else present["oob_tpr"]
    drivers = figures["drivers"]["rows"] if figures["drivers"] else []
    reach = [max(abs(row["lower"]), abs(row["upper"])) for row in drivers]
    return {
        "present_cost": own,
        "none_cost": cost(0, 0),
        "all_cost": cost(n_plus, n_minus),
        "cheapest": {"demand": every.index(min(every)) / 1000, "cost": min(every)},
        "cost_top": top,
        "cost_points": " ".join(
            f"{10 + 0.42 * k:.1f},{height(every[k]):.1f}" for k in range(0, 1001, 5)
        ),
        "cost_dot": [round(10 + 420 * start, 1), round(height(own), 1)],
        "table_rows": [_table_row(figures, place, every[place]) for place in figures["table"]],
        "driver_reach": max(reach, default=0.0) or 1.0,
        "measures": _measures(names["positive"], names["negative"], figures["quality"]),
    }


def _table_row(figures: dict[str, Any], place: int, cost: float) -> dict[str, Any]:
    n_plus, n_minus = figures["n_plus"], figures["n_minus"]
    tp, fp = figures["steps"]["tp"][place], figures["steps"]["fp"][place]
    return {
        "place": place,
        "demand": place / 1000,
        "tpr": tp / n_plus,
        "tnr": 1 - fp / n_minus,
        "precision": tp / (tp + fp) if tp + fp else None,
        "called": round(1000 * (tp + fp) / (n_plus + n_minus)),
        "cost": cost,
    }


def _measures(positive: str, negative: str, quality: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, key and explanation of each measure."""
    base = f"0 is perfect; predicting the share of {positive} for every record gives"
    within = "the Brier score within this class"
    return [
        ("AUC", "auc", f"chance that {positive} ranks above {negative}; 0.5 is random"),
        ("Brier score (MSE)", "mse", f"{base} {quality['base_mse']:.3f}"),
        (f"MSE of {positive}", "mse_plus", within),
        (f"MSE of {negative}", "mse_minus", within),
        ("Log loss", "log_loss", f"{base} {quality['base_log_loss']:.3f}"),
    ]
