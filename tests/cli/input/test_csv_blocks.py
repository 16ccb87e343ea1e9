"""Blocks of CSV text hold whole records."""

import csv
import io

from hypothesis import given, settings
from hypothesis import strategies as st

from svmproba.cli.input.csv_blocks import end_of_records, whole_records

CELLS = st.text(st.sampled_from("ab\",; \n\t'é"), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=12),
    size=st.integers(1, 40),
)
def test_blocks_of_any_size_hold_the_records_of_pythons_csv(rows, size):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    text = out.getvalue().encode()
    pieces = [text[k : k + size] for k in range(0, len(text), size)]
    blocks = list(whole_records("x", iter(pieces), ",", b"\n"))
    assert b"".join(blocks) == text
    found = []
    for block in blocks:
        found += csv.reader(io.StringIO(block.decode(), newline=""))
    assert found == rows


def test_a_stray_quotation_mark_within_a_cell():
    assert end_of_records(b'5" disk,x\n7,y\n', ",", b"\n") == 14
