"""Several exports together: every one of a campaign, or a dataset folder for the Hugging Face hub.

Files come one after the other, and each must be read to its end before the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from annotation.exports.card import card
from annotation.exports.forms import FORMS
from annotation.exports.manifest import ExportedFile, Exporting, Tick, manifest
from annotation.exports.registry import exports_of
from annotation.models import Campaign

MANIFEST = "manifest.json"
CARD = "README.md"
Pieces = Iterator[bytes]


@dataclass(frozen=True)
class Bundle:
    """`plan(campaign, form)` gives path, export and form of each file."""

    label: str
    plan: Callable[[Campaign, str], Iterator[tuple[str, str, str]]]
    has_card: bool = False


def _all(campaign: Campaign, form: str) -> Iterator[tuple[str, str, str]]:
    """Every export in this form, or in its own first one where it does not come in this one."""
    for what, export in exports_of(campaign).items():
        chosen = form if form in export.forms else export.forms[0]
        yield f"{what}.{FORMS[chosen].suffix}", what, chosen


def _dataset(campaign: Campaign, form: str) -> Iterator[tuple[str, str, str]]:
    for what, export in exports_of(campaign).items():
        if export.is_table:
            yield f"data/{what}.parquet", what, "parquet"


BUNDLES = {
    "all": Bundle("everything, in a folder", _all),
    "dataset": Bundle("a dataset folder: Parquet and a card", _dataset, has_card=True),
}


def bundled(
    campaign: Campaign, name: str, form: str, tick: Tick = lambda rows: None
) -> Iterator[tuple[str, Pieces]]:
    """The files of a bundle as path and pieces; a card where it has one, and last its manifest.

    Raises BlankError where an identifier does not fit a file's form.
    """
    bundle, files = BUNDLES[name], list[ExportedFile]()
    for path, what, chosen in bundle.plan(campaign, form):
        one = Exporting(campaign, path, what, chosen, tick)
        yield path, one.pieces()
        files.append(one.written())
    told = manifest(campaign, files)
    if bundle.has_card:
        yield CARD, iter([card(campaign, told).encode("utf-8")])
    yield MANIFEST, iter([as_json(told)])


def as_json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
