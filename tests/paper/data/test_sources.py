"""Sources of the paper's data files, and how they become ours."""

import gzip
import hashlib

from svmproba.paper.data.datasets import DATASETS
from svmproba.paper.data.sources import (
    SOURCES,
    Source,
    content_of,
    recode_adult,
    recode_leukemia,
    recode_productivity,
)


def test_adult_recoded_from_uci(zipped, data_dir):
    """The raw file is known by its digest, and ours is made of it."""
    ours = gzip.decompress((data_dir / "adult.csv.gz").read_bytes())
    raw = ours.partition(b"\n")[2].replace(b",", b", ") + b"\n"
    known = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
    assert hashlib.sha256(raw).hexdigest() == known
    source = Source(("",), "adult.data", recode_adult)
    content = content_of(source, [zipped(**{"adult.data": raw})])
    assert hashlib.sha256(content).hexdigest() == DATASETS["adult"].sha256


def test_leukemia_recoded_from_tables_of_genes():
    train = (
        b'Gene Description,Gene Accession Number,1,call,3,call\n"a, b",g1,5,A,-6,P\nc,g2,7,A,8,M\n'
    )
    independent = train.replace(b",1,", b",2,").replace(b",3,", b",10,").replace(b"5", b"9")
    actual = b"patient,cancer\n1,ALL\n2,AML\n3,ALL\n10,AML\n"
    assert recode_leukemia(train, independent, actual).decode().splitlines() == [
        "sample,class,g1,g2",
        "1,ALL,5,7",
        "2,AML,9,7",
        "3,ALL,-6,8",
        "10,AML,-6,8",
    ]


def test_blanks_of_productivity():
    assert recode_productivity(b"1,finishing ,Monday\n2,finishing,a\n") == (
        b"1,finishing,Monday\n2,finishing,a\n"
    )


def test_every_file_has_a_source_or_a_reason():
    without = {dataset.file for dataset in DATASETS.values()} - set(SOURCES)
    assert without == {"heart.csv.gz", "SRBCT.csv.gz", "wisconsin.csv"}
    urls = [url for sources in SOURCES.values() for source in sources for url in source.urls]
    assert all(url.startswith("https://") and " " not in url for url in urls)
