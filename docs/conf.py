"""Settings of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from examples_that_run import REPORTS, examples_with_data

import svmproba

project = "svmproba"
author = "The svmproba developers"
project_copyright = "the svmproba developers, BSD-3 licence"
version = release = svmproba.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "mathml",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "literal"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
toc_object_entries_show_parents = "hide"
autosummary_generate = True
numpydoc_show_class_members = False

# Formulas become MathML here, so that the pages need no script from elsewhere.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "svmproba"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
REPORTS.mkdir(parents=True, exist_ok=True)
html_extra_path = [str(REPORTS)]
html_sidebars = {"index": [], "quickstart": [], "changelog": []}
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "svmproba"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_prev_next": True,
}

EXAMPLES = Path(__file__).parents[1] / "examples"
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "auto_examples",
    "filename_pattern": examples_with_data(EXAMPLES),
    "image_scrapers": ("matplotlib", "examples_that_run.show_report"),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
}


#: Files outside docs/ that are pages of the site: links to them work on a code forge and here.
PAGES_ELSEWHERE = {
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changelog.md",
    "../examples/README.rst": "auto_examples/index.rst",
    "../examples/plot_churn.py": "auto_examples/plot_churn.rst",
    "../examples/plot_credit.py": "auto_examples/plot_credit.rst",
    "../CONTRIBUTING.md": "contributing.md",
}


def lead_to_pages(app: Any, page: str, source: list[str]) -> None:
    """Replace links to files outside docs/ by links to their pages."""
    up = "../" * page.count("/")
    for file, own_page in PAGES_ELSEWHERE.items():
        source[0] = source[0].replace(f"]({up}{file})", f"]({up}{own_page})")


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.connect("source-read", lead_to_pages)
