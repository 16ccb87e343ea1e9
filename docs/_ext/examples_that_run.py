"""The gallery runs the examples whose data files are available, and shows their reports."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from svmproba.paper.data.data_files import find_file
from svmproba.paper.data.datasets import DATASETS

#: Folder of the reports that examples write; its files go to the root of the site.
REPORTS = Path(__file__).parents[1] / "auto_examples" / "reports"
LOADED = re.compile(r'load_dataset\("([^"]+)"')


def has_data(example: Path) -> bool:
    """Whether all data sets that an example loads are in `SVMPROBA_DATA` or in the cache.

    Parameters
    ----------
    example : Path
        A Python file.

    Returns
    -------
    bool
        Nothing is fetched to find out: a build must not depend on a network.
    """
    for name in LOADED.findall(example.read_text(encoding="utf-8")):
        try:
            find_file(DATASETS[name].file, DATASETS[name].sha256, download=False)
        except FileNotFoundError:
            return False
    return True


def examples_with_data(folder: Path) -> str:
    """Regular expression of the examples that sphinx-gallery runs; of the others it shows the code.

    Parameters
    ----------
    folder : Path
        Folder of the examples.

    Returns
    -------
    str
    """
    names = [path.name for path in sorted(folder.glob("*.py")) if has_data(path)]
    return "|".join(f"{re.escape(name)}$" for name in names) or "(?!)"


def show_report(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Show the page that an example keeps as `report`, once; a scraper of sphinx-gallery.

    Parameters
    ----------
    block, gallery_conf
        Not used.
    block_vars : dict
        ``"example_globals"`` are the names of the example.

    Returns
    -------
    str
        Lines of reStructuredText.
    """
    report = block_vars["example_globals"].pop("report", None)
    if report is None:
        return ""
    shutil.copy(report, REPORTS)
    frame = f'<iframe class="report" src="../{report.name}" title="The report"></iframe>'
    link = f'<p><a href="../{report.name}">The report by itself</a></p>'
    return f"\n.. raw:: html\n\n    {frame}\n    {link}\n\n"
