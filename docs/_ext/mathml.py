"""Formulas as MathML, by docutils; browsers show it without a script."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

#: LaTeX commands that docutils does not know, and their replacements.
SPELLINGS = [
    (re.compile(r"\\dots(?![a-z])"), r"\\ldots"),
    (re.compile(r"\\([bB]igg?)(?=[(\[]|\\\{)"), r"\\\1l"),
    (re.compile(r"\\([bB]igg?)(?=[)\]]|\\\})"), r"\\\1r"),
    (re.compile(r"\\([dt]?frac)\s*(\d)"), r"\\\1{\2}"),
    (re.compile(r"\\(bar|hat|tilde)\s+(\w)"), r"{\\\1{\2}{}}"),
]


def as_mathml(node: nodes.Element, as_block: bool) -> str:
    """MathML of a formula in LaTeX; if that fails, the LaTeX itself and a warning."""
    latex = known = node.astext()
    for pattern, replacement in SPELLINGS:
        known = pattern.sub(replacement, known)
    try:
        return str(tex2mathml(known, as_block=as_block))
    except MathError as error:
        LOGGER.warning("%s in the formula %s", error, latex, location=node)
        return f"<code>{html.escape(latex)}</code>"


def visit_inline(writer: Any, node: nodes.Element) -> None:
    """Write an inline formula."""
    writer.body.append(as_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    """Write a displayed formula; it scrolls on narrow screens."""
    writer.body.append(f'<div class="formula">{as_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
