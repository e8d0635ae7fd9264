"""A right-to-left language, for tests only: German in Arabic letters.

Its texts are as long as those of a real language, and texts outside the catalogues are easy to see.
"""

from __future__ import annotations

import re
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from scripts.catalogues import catalogue

LANGUAGE = "ar"
KEPT = re.compile(r"(%\(\w+\)[sd]|%%|\{\w+\}|<[^>]*>|&\w+;)")
LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyzäöüß", "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآ")


def write_catalogues(folder: Path) -> None:
    """Write the catalogues of annotators' pages into a folder of locales."""
    place = folder / LANGUAGE / "LC_MESSAGES"
    place.mkdir(parents=True)
    for domain in ("django", "djangojs"):
        made = Catalog(LANGUAGE, domain=domain, fuzzy=False)
        for message in catalogue("de", domain):
            if message.id:
                said = message.string or ""
                one = said if isinstance(said, str) else said[-1]
                several = (_turned(one),) * made.num_plurals
                made.add(message.id, several[0] if one is said else several)
        with (place / f"{domain}.mo").open("wb") as file:
            write_mo(file, made)


def _turned(text: str) -> str:
    parts = KEPT.split(text)
    return "".join(p if KEPT.fullmatch(p) else p.lower().translate(LETTERS) for p in parts)
