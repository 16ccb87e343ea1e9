"""Print the part of the changelog that describes a release; refuse a tag that does not fit.

    python tools/release_notes.py v0.1.0

The tag, the version of the package, CITATION.cff, the conda recipe and the newest heading of the
changelog must be of one version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The version in each file that tells it.
PLACES = {
    "src/svmproba/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "packaging/conda/recipe.yaml": r'^  version: "(.+)"$',
}


def versions(root: Path = ROOT) -> dict[str, str]:
    """Version by the file that tells it."""
    return {
        name: re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)[0]
        for name, pattern in PLACES.items()
    }


def notes(changelog: str, version: str) -> str:
    """Text under the heading of a version, which must be the newest and have a date."""
    heading = re.search(r"^## \[?([^\]\s]+)\]?(?: - (\d{4}-\d\d-\d\d))?\n", changelog, re.MULTILINE)
    if heading is None or heading[1] != version or heading[2] is None:
        found = "no heading" if heading is None else repr(heading[0].strip())
        raise SystemExit(
            f"CHANGELOG.md must begin with '## {version} - YYYY-MM-DD', it has {found}"
        )
    rest = changelog[heading.end() :]
    following = re.search(r"^## ", rest, re.MULTILINE)
    return rest[: following.start() if following else None].strip()


def main() -> None:
    """Print the notes of the tag that the command line names."""
    version = sys.argv[1].removeprefix("v")
    if wrong := {name: found for name, found in versions().items() if found != version}:
        raise SystemExit(f"the tag is {sys.argv[1]}, but: {wrong}")
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version))


if __name__ == "__main__":
    main()
