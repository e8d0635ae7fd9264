"""Guideline versions of a campaign's labels.

A judge's labels count under the versions that people followed, too. A text is identified by its
digest. If a text is used again, it counts as its first version. Any text that is not one of the
campaign's versions is the protocol's own guideline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.models import Campaign, Item, Label, Rater
from annotation.trust.roles import without_certify
from tandem.labels.facts import LabelKey
from tandem.labels.frame import Frame, Guideline
from tandem.labels.guidelines import with_guidelines

_COLUMNS = (
    "response__assignment__item__key",
    "unit__kind",
    "unit__key",
    "variable",
    "response__assignment__rater__name",
    "response__basis",
    "response__assignment__rater__kind",
)
PROTOCOLS = Guideline(None, "")


def versions_by_digest(campaign: Campaign) -> dict[str, int]:
    """Return the number of each text by its digest, apart from the protocol's own guideline.

    A text that is used again has the number of its first version.
    """
    rows = campaign.guidelines.exclude(digest="").order_by("-version")
    return dict(rows.values_list("digest", "version"))


def with_followed_versions(frame: Frame, campaign: Campaign) -> Frame:
    """Add the versions that people followed to a campaign's frame, if there are several."""
    versions = versions_by_digest(campaign)
    if not versions:
        return frame
    own = sorted((number, digest) for digest, number in versions.items())
    texts = [PROTOCOLS, *(Guideline(*each) for each in own)]
    places = {each.digest: n for n, each in enumerate(texts)}
    given: dict[LabelKey, int] = {}
    by_people: set[int] = set()
    for *place, basis, kind in _labels(campaign):
        version = places.get(basis.rpartition("-")[2], 0)
        given[LabelKey(*place)] = version
        if kind == Rater.Kind.HUMAN:
            by_people.add(version)
    used = sorted(by_people)
    moved = {version: n for n, version in enumerate(used)}
    followed = [texts[version] for version in used]
    known = {place: moved[version] for place, version in given.items() if version in moved}
    return with_guidelines(frame, followed, known)


def _labels(campaign: Campaign) -> Iterator[tuple[Any, ...]]:
    """Yield labels with the basis of their answers. Imported answers have none."""
    labels = Label.objects.filter(
        response__current=True,
        response__basis__isnull=False,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
        response__assignment__rater__kind__in=(Rater.Kind.HUMAN, Rater.Kind.JUDGE),
        response__assignment__replicate=0,
    )
    read = without_certify(labels, campaign).order_by().values_list(*_COLUMNS)
    return read.iterator(chunk_size=5000)
