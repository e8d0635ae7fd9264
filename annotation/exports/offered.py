"""What of a campaign can be taken along, as a page or a script is offered it: names and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.text import slugify

from annotation.exports.archive import zipped
from annotation.exports.bundles import BUNDLES, bundled
from annotation.exports.forms import FORMS, BlankError
from annotation.exports.manifest import Exporting
from annotation.exports.registry import EXPORTS, TABLE, exports_of
from annotation.models import Campaign

ZIP = "application/zip"


@dataclass(frozen=True)
class Offer:
    """One export or bundle of a campaign with the forms that it comes in."""

    what: str
    row: str
    forms: tuple[str, ...]

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Each form with what it is called."""
        return [(form, FORMS[form].label) for form in self.forms]


@dataclass(frozen=True)
class Download:
    """A file on its way, in pieces."""

    name: str
    media_type: str
    pieces: Iterator[bytes]


def offers(campaign: Campaign) -> list[Offer]:
    return [
        *(Offer(name, each.row, each.forms) for name, each in exports_of(campaign).items()),
        *(Offer(name, each.label, forms_of(name)) for name, each in BUNDLES.items()),
    ]


def forms_of(bundle: str) -> tuple[str, ...]:
    return ("parquet",) if BUNDLES[bundle].has_card else TABLE


def tells_answers(what: str) -> bool:
    return what in BUNDLES or EXPORTS[what].tells_answers


def download(campaign: Campaign, what: str, form: str) -> Download:
    """The file of an offer; several files come as a ZIP archive.

    Raises KeyError where the campaign has no such offer, and BlankError before anything is sent.
    """
    offer = {each.what: each for each in offers(campaign)}[what]
    if form not in offer.forms:
        raise KeyError(form)
    stem = f"{slugify(campaign.name) or 'campaign'}-{campaign.pk}-{what}"
    if what in BUNDLES:
        return Download(f"{stem}.zip", ZIP, zipped(bundled(campaign, what, form)))
    if form == "trec":
        # An answer that has begun cannot become a refusal any more.
        for _ in Exporting(campaign, stem, what, form).pieces():
            pass
    chosen = FORMS[form]
    pieces = Exporting(campaign, stem, what, form).pieces()
    return Download(f"{stem}.{chosen.suffix}", chosen.media_type, pieces)


__all__ = ["BlankError", "Download", "Offer", "download", "forms_of", "offers", "tells_answers"]
