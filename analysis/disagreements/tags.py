"""Tags of units: a reader's view of a disagreement, with a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count

from analysis.models import UnitTag
from annotation.models import Campaign, Unit, User
from audit.recording import record

MAX_NOTE = 1000
MAX_SECTION = 200


def set_tag(
    unit: Unit, variable: str, tag: str, note: str, by: User, section: str = ""
) -> UnitTag | None:
    """Set the tag of a unit and variable, or remove it if `tag` is empty.

    `section` is the heading of the relevant guideline section. Raises ValueError for an unknown
    tag, or a note over 1,000 characters.
    """
    section = section.strip()[:MAX_SECTION]
    if tag and tag not in UnitTag.Tag.values:
        raise ValueError(f"there is no tag {tag!r}; choose one of {', '.join(UnitTag.Tag.values)}")
    if len(note) > MAX_NOTE:
        raise ValueError(f"a note has at most {MAX_NOTE} characters; shorten it")
    with transaction.atomic():
        rows = UnitTag.objects.select_for_update().filter(unit=unit, variable=variable)
        before = rows.first()
        facts_before = _facts(before.tag, before.note, before.section) if before else None
        if not tag:
            rows.delete()
            made = None
        else:
            values = {"tag": tag, "note": note.strip(), "section": section, "by": by}
            made, _ = UnitTag.objects.update_or_create(
                unit=unit, variable=variable, defaults=values
            )
        after = _facts(tag, note.strip(), section) if made else None
        if facts_before != after:
            record("unit.tagged", unit.item.campaign_id, unit, before=facts_before, after=after)
    return made


def _facts(tag: str, note: str, section: str) -> dict[str, str]:
    return {"tag": tag, "note": note, **({"section": section} if section else {})}


def tags_of(units: Iterable[int], variable: str) -> dict[int, UnitTag]:
    """Return the tags of some units for a variable, by unit."""
    rows = UnitTag.objects.filter(unit__in=list(units), variable=variable)
    return {row.unit_id: row for row in rows}


def tagged_units(campaign: Campaign, variable: str, tag: str) -> set[int]:
    """Return the units of a campaign with a tag."""
    rows = UnitTag.objects.filter(unit__item__campaign=campaign, variable=variable, tag=tag)
    return set(rows.values_list("unit", flat=True))


def tag_counts(campaign: Campaign, variable: str) -> Counter[str]:
    """Count the tags of a campaign's units for a variable."""
    rows = UnitTag.objects.filter(unit__item__campaign=campaign, variable=variable).order_by()
    return Counter(dict(rows.values_list("tag").annotate(number=Count("pk"))))
