"""One HTML page for the person who decides: what a model does at its own threshold and others."""

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
from svmproba.evaluation._report_figures import report_figures
from svmproba.evaluation._report_formats import FORMATS

#: What the slider reads.
LIVE = ("names", "n_plus", "n_minus", "present", "steps", "histogram", "costs")


def report_html(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    about: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> str:
    """Write a page about a fitted bootstrap ensemble and some records.

    It tells what the model does at its present threshold and what is guaranteed, how good its
    probabilities are, what another demanded TPR would give (with a slider), which records are
    close calls, what drives the score, and how sure all this is. The page needs no network, works
    from the keyboard, on a phone and in print; without JavaScript it lacks the slider alone.

    A demanded rate moves the threshold as ``model.with_rate(tpr=rate, exceed=False)`` does, by
    out-of-bag scores; the counts are those of the given records at that threshold. All of them are
    computed here, none by the page. Where the records are the training records themselves, each is
    judged by the bags that left it out.

    Parameters
    ----------
    model : BootstrapSVC, ThresholdBootstrapSVC or ConstrainedBootstrapSVC, fitted
        Or a pipeline that ends with one.
    X : table of shape (n, n_features)
        Records, best such that the model has not seen. Those of a pipeline are its raw input.
    y : array-like of shape (n,)
        Their labels, both classes.
    about : mapping, default=None
        What is known beyond the model: ``"costs"``, a mapping with ``"fn"`` and ``"fp"``, the
        cost of a missed record of the class of interest and of a false alarm (``"tp"`` and
        ``"tn"`` too, if right calls cost something), by default those of ``model.with_costs``;
        ``"target"``, the name of the target; ``"records"``, what records are called, such as
        ``"applicants"``; ``"warnings"``, sentences to show on the page. Other keys are left alone.
    title : str, default=None
        Title of the page.

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
    figures = report_figures(model, X, y, about)
    # All three are ours, or escaped below: no text of the user goes in as it is.
    css, script = (_trusted(environment, name) for name in ("report.css", "report.js"))
    digest = hashlib.sha256(script.encode()).digest()
    page: str = environment.get_template("report.html").render(
        **figures,
        **_derived(figures),
        title=title or _title(figures),
        css=css,
        script=script,
        script_hash=f"sha256-{base64.b64encode(digest).decode()}",
        payload=_payload({name: figures[name] for name in LIVE}),
        version=_version(),
        date=_today(),
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
    overwrite: bool = True,
) -> Path:
    """Write the page of :func:`report_html` to a file.

    Parameters
    ----------
    model, X, y, about, title
        As in :func:`report_html`.
    path : str or Path
        The file.
    overwrite : bool, default=True
        Whether a file that exists may be replaced; otherwise it is a FileExistsError.

    Returns
    -------
    Path
        The file.
    """
    page = report_html(model, X, y, about=about, title=title)
    file = Path(path)
    write_whole(file, page.encode(), overwrite=overwrite)
    return file


@functools.cache
def _environment() -> Any:
    """Templates and the formats they use."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("the report needs jinja2: pip install 'svmproba[report]'") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("svmproba.evaluation", "templates"),
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


def _version() -> str:
    from svmproba import __version__

    return __version__


def _today() -> str:
    today = datetime.date.today()
    return f"{today.day} {today:%B %Y}"


def _title(figures: dict[str, Any]) -> str:
    names = figures["names"]
    return f"Who is {names['positive']}?" if not names["target"] else f"Report on {names['target']}"


def _derived(figures: dict[str, Any]) -> dict[str, Any]:
    """Numbers of the page that are sums and quotients of the figures."""
    n_plus, n_minus, costs = figures["n_plus"], figures["n_minus"], figures["costs"]
    steps, present, quality = figures["steps"], figures["present"], figures["quality"]

    def cost(tp: int, fp: int) -> float:
        total: float = (n_plus - tp) * costs["fn"] + fp * costs["fp"]
        total += tp * costs["tp"] + (n_minus - fp) * costs["tn"]
        return 1000 * total / (n_plus + n_minus)

    every = [cost(tp, fp) for tp, fp in zip(steps["tp"], steps["fp"], strict=True)]
    own = cost(present["tp"], present["fp"])
    top, low = max(*every, own), min(*every, own, 0.0)
    span = (top - low) or 1.0
    start = present["tpr"][0] if present["oob_tpr"] is None else present["oob_tpr"]
    rows = []
    for place in figures["table"]:
        tp, fp = steps["tp"][place], steps["fp"][place]
        rows.append(
            {
                "place": place,
                "demand": place / 1000,
                "tpr": tp / n_plus,
                "tnr": 1 - fp / n_minus,
                "precision": tp / (tp + fp) if tp + fp else None,
                "called": round(1000 * (tp + fp) / (n_plus + n_minus)),
                "cost": every[place],
            }
        )
    reach = [max(abs(row["lower"]), abs(row["upper"])) for row in _driver_rows(figures)]
    return {
        "guaranteed": not figures["guarantee"].startswith(NO_GUARANTEE.partition(":")[0]),
        "present_cost": own,
        "none_cost": cost(0, 0),
        "all_cost": cost(n_plus, n_minus),
        "cheapest": {"demand": every.index(min(every)) / 1000, "cost": min(every)},
        "cost_top": top,
        "cost_points": " ".join(
            f"{10 + 0.42 * k:.1f},{200 - 180 * (every[k] - low) / span:.1f}"
            for k in range(0, 1001, 5)
        ),
        "cost_dot": [round(10 + 420 * start, 1), round(200 - 180 * (own - low) / span, 1)],
        "table_rows": rows,
        "driver_reach": max(reach, default=1.0) or 1.0,
        "measures": _measures(figures["names"]["positive"], figures["names"]["negative"], quality),
    }


def _driver_rows(figures: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [] if figures["drivers"] is None else figures["drivers"]["rows"]
    return rows


def _measures(positive: str, negative: str, quality: dict[str, Any]) -> list[tuple[str, str, str]]:
    base = f"always stating the share of {positive} would score"
    return [
        ("AUC", "auc", f"chance that a {positive} ranks above a {negative}; 0.5 is guessing"),
        ("Brier score (MSE)", "mse", f"0 is perfect; {base} {quality['base_mse']:.3f}"),
        (f"MSE of {positive}", "mse_plus", "the same, within the class"),
        (f"MSE of {negative}", "mse_minus", "the same, within the class"),
        ("Log loss", "log_loss", f"0 is perfect; {base} {quality['base_log_loss']:.3f}"),
    ]
