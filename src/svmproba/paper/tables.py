"""The numbers printed in the paper, to stand beside ours.

Tables 1 to 6 of S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo,
"Cost-sensitive probabilistic predictions for support vector machines", European Journal of
Operational Research, doi:10.1016/j.ejor.2023.09.027.

1. Data sets: records, attributes, positives, size of the validation part.
2. Mean squared error of EBB and the methods it is compared with.
3. Mean squared error among positives, CEBB1 and CEBB2, by requested true positive rate.
4. The same among negatives.
5. Area under the ROC curve of EBB and the methods it is compared with.
6. Area under the ROC curve, CEBB1 and CEBB2, by requested true positive rate.
"""

from __future__ import annotations

import csv
from importlib.resources import files

_FILES = {
    1: "table1_datasets.csv",
    2: "table2_mse.csv",
    3: "table3_positive_mse.csv",
    4: "table4_negative_mse.csv",
    5: "table5_auc.csv",
    6: "table6_auc.csv",
}
_TEXT_COLUMNS = ("dataset", "method")


def read_table(number: int) -> list[dict[str, str | float]]:
    """Read a table of the paper, 1 to 6: one entry for each row, in the order of print."""
    if number not in _FILES:
        raise ValueError(f"number must be one of {list(_FILES)}, got {number!r}")
    text = (files(__package__) / "printed" / _FILES[number]).read_text(encoding="utf-8")
    return [
        {key: value if key in _TEXT_COLUMNS else float(value) for key, value in row.items()}
        for row in csv.DictReader(text.splitlines())
    ]


def printed(number: int, dataset: str, column: str, method: str | None = None) -> float:
    """Look up one number of the paper; tables 3, 4 and 6 need the method, cebb1 or cebb2."""
    for row in read_table(number):
        if row["dataset"] == dataset and row.get("method") == method and column in row:
            return float(row[column])
    raise ValueError(
        f"table {number} has no entry dataset={dataset!r}, column={column!r}, method={method!r}"
    )
