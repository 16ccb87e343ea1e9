"""What the first bytes of CSV show."""

import codecs

import pytest

from svmproba.cli.errors import InputError
from svmproba.cli.input.csv_text import (
    check_encoding,
    check_looks_like_text,
    encoding_of,
    guess_separator,
    parse_separator,
    separator_line,
    split_header,
)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("age;income\n31;1,5\n44;2,5\n", ";"),
        ("a,b\n1,x;y\n2,z\n", ","),
        ('a|b\n"1|2"|x\n3|y\n', "|"),
        ("a\tb\n1\t2\n3\n4\t5\n", "\t"),  # one broken line does not hide the separator
        ("a\n1\n2\n", ","),
    ],
)
def test_guesses(text, separator):
    assert guess_separator(text) == separator


def test_names_of_separators():
    assert [parse_separator(text) for text in ("tab", r"\t", ";", None)] == ["\t", "\t", ";", None]
    with pytest.raises(InputError, match=r"must be one character or of comma, .*; got 'dots'"):
        parse_separator("dots")


def test_the_line_of_excel():
    assert separator_line("sep=;\nage;income\n") == (";", "age;income\n", 6)
    assert separator_line('"sep=é"\r\na') == ("é", "a", 10)
    assert separator_line("separator;b\n") == (None, "separator;b\n", 0)


@pytest.mark.parametrize(
    ("head", "given", "encoding"),
    [
        (b"a", None, "utf-8"),
        (b"a", "latin-1", "latin-1"),
        (codecs.BOM_UTF8 + b"a", None, "utf-8-sig"),
        (codecs.BOM_UTF8 + b"a", "utf8", "utf-8-sig"),
        (codecs.BOM_UTF16_BE + b"\0a", None, "utf-16"),
    ],
)
def test_encodings(head, given, encoding):
    assert encoding_of(head, given) == encoding


def test_an_encoding_that_python_does_not_know():
    assert check_encoding("cp1252") == "cp1252"
    with pytest.raises(InputError, match=r"--encoding .* got 'klingon'"):
        check_encoding("klingon")


def test_headers():
    header = split_header("x.csv", '"é,b", ,c\n1,2,3\n', ",", True)
    assert header == (["é,b", "column2", "c"], len('"é,b", ,c\n'.encode()))
    assert split_header("x.csv", "1,2\n", ",", False) == (["column1", "column2"], 0)
    with pytest.raises(InputError, match="more than one column is called 'a'"):
        split_header("x.csv", "a,b,a\n", ",", True)
    with pytest.raises(InputError, match="the first line holds numbers"):
        split_header("x.csv", "1,2\n", ",", True)


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b" \n", "x.csv is empty"),
        (b"PK\x03\x04abc", "an archive or an Excel workbook"),
        (b"a\0b", "x.csv is not text"),
    ],
)
def test_what_is_not_text(head, what):
    with pytest.raises(InputError, match=what):
        check_looks_like_text("x.csv", head, None)
    if b"\0" in head:
        check_looks_like_text("x.csv", head, "utf-16")
        check_looks_like_text("x.csv", codecs.BOM_UTF16_LE + head, None)
    check_looks_like_text("x.csv", b"a,b", None)


def test_twenty_lines_tell_the_separator():
    lines = ["a;b"] * 20 + ["x,y,z"] * 50
    assert guess_separator("\n".join(lines)) == ";"
    assert guess_separator("\n".join(["x,y"] * 5 + ["a;b"] * 4)) == ","
    assert guess_separator("a b;c d;e f\n" * 3) == " "  # more cells, as often
    assert guess_separator('a,b\n"x') == ","
