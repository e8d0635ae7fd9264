"""The words of a protocol's file: what a page may ask and show, by what there is a page for."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, tuple[str, ...]] = {
    "query": (
        "item", "query", "question", "key-point", "nugget", "passage", "passage-sentence",
        "report", "sentence", "report-passage",
    ),
    "report": (
        "item", "report", "question", "key-point", "report-nugget", "sentence",
        "sentence-citation", "report-passage",
    ),
    "passage": ("item", "passage", "question", "passage-sentence"),
    "report-passage": ("item", "report-passage", "question"),
    "key-point": ("item", "key-point"),
    "pair": ("item", "pair"),
}  # fmt: skip
"""The kinds of unit that an item of each form may have."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    "query": ("reports", "passages", "references", "key-points", "questions"),
    "report": ("report", "passages", "cited", "references", "key-points", "questions"),
    "passage": ("passage", "references", "key-points", "questions"),
    "report-passage": ("report", "passage", "references", "key-points", "questions"),
    "key-point": ("passage", "passages", "references", "questions"),
    "pair": ("reports", "passages", "references", "key-points", "questions"),
}
"""What an item of each form may show. `meta.NAME` is always possible."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "nugget": ("importance", "sources"),
    "report-nugget": ("importance", "sources"),
    "key-point": ("importance",),
    "passage": ("source", "date"),
    "report-passage": ("source", "date"),
    "sentence-citation": ("source", "date"),
}
"""The attributes of units by kind."""
QUOTED: Mapping[str, tuple[str, ...]] = {
    "report": ("report", "reports"),
    "sentence": ("report", "reports"),
    "passage": ("passage", "passages", "cited"),
    "passages": ("passages", "cited"),
    "reference": ("references",),
}
"""For each text of evidence, the entries of `shows` of which one puts it on the page."""


def _all(of: Mapping[str, tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(word for words in of.values() for word in words))


WORDS: Mapping[str, list[str]] = {
    "each": list(KINDS),
    "unit": _all(KINDS),
    "shown": _all(SHOWN),
    "attribute": _all(FIELDS),
    "quoted": list(QUOTED),
}
"""The words of each definition of `file_schema.json` that lists none itself."""
