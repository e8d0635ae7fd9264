"""The files of a release and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

FORM = 2
"""The version of this layout. The second one has what was asked, from which tables are filled."""
FIRST = 1
FACTS = "release.json"
SUMS = "SHA256SUMS"
STUDY = "study.toml"
README = "README.md"
DATASHEET = "datasheet.md"
CROISSANT = "croissant.json"
LICENCE = "LICENCE.txt"
LABELS, WIDE, RESPONSES = "labels.jsonl", "labels-wide.csv", "responses.jsonl"
ITEMS, SAMPLING = "items.jsonl", "sampling.jsonl"
REPORT, REPORT_TEXT, MEASURES = "report.json", "report.md", "measures.json"
TABLES = "tables"
"""The folder of the papers' tables."""
CERTIFICATES, CHECK_CERTIFICATE = "certificates", "check_certificate.py"
"""The folder of certificates, and the script that checks one with Python alone."""
PROTOCOLS = "protocols"
"""The folder of protocols of teams, each in a folder of its own with the texts beside it."""
REFUSALS = "options/refusals.toml"
"""A list of refusals that the study's options name."""
WIDE_FACTS = ("item", "unit", "kind", "query", "system", "setting")
"""The columns of the wide labels that precede the raters' columns."""


def folder_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name for each name, unique even if case is ignored."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "unnamed"
        number, unique = 2, plain[:80]
        while unique.casefold() in taken:
            unique, number = f"{plain[:80]}-{number}", number + 1
        taken.add(unique.casefold())
        found[name] = unique
    return found
