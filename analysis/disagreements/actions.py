"""Tags of units, and actions on a list: adjudicate, create gold answers, use as examples.

The page, the command and the API call the same two functions of an action: one returns how many
units it can take and why not the others, and one carries it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import Count

from analysis.models import UnitTag
from annotation.access import is_blind
from annotation.adjudication.disputes import Selection, select_sendable, send
from annotation.adjudication.gold import gold_targets, goldable, make_gold
from annotation.models import Campaign, Unit, User
from annotation.presentation import schema
from audit.recording import record
from judging.prompts.examples import choose_examples, selectable_units
from tandem.document import count
from tandem.files.rows import InputError

MOST = 5000
"""The most units that an action takes at once, in a web request."""


class ActionError(ValueError):
    """An action cannot be carried out. The message says why and what to do."""


@dataclass(frozen=True)
class SelectedUnits:
    """The units (primary keys) of a list, for an action; gold answers go into `target`."""

    campaign: Campaign
    variable: str
    units: Collection[int]
    target: Campaign | None = None

    def count(self, number: int) -> str:
        """Return a number of units with the protocol's noun for them."""
        return count(number, *schema(self.campaign).noun)

    @property
    def gold_target(self) -> Campaign:
        """The campaign that gets the gold answers. Raises ActionError without one."""
        if self.target is None:
            raise ActionError("name the campaign that gets the gold answers")
        return self.target


@dataclass(frozen=True)
class Action:
    """An action: its title, a description, and its two functions. `done` describes the result."""

    title: str
    about: str
    done: str
    possible: Callable[[SelectedUnits], Selection]
    carry_out: Callable[[SelectedUnits, User | None], int]
    needs_target: bool = False


ACTIONS: Mapping[str, Action] = {
    "adjudicate": Action(
        "Send to adjudication",
        "Adjudicators get them first, without seeing who gave which label.",
        "sent to adjudication",
        lambda chosen: select_sendable(chosen.campaign, chosen.units),
        lambda chosen, by: send(chosen.campaign, chosen.units, by),
    ),
    "gold": Action(
        "Make gold",
        "What people decided becomes gold answers of another campaign, whose people have not seen "
        "it.",
        "made gold",
        lambda chosen: goldable(chosen.campaign, chosen.units, chosen.variable, chosen.gold_target),
        lambda chosen, by: make_gold(
            chosen.campaign, chosen.units, chosen.variable, chosen.gold_target
        ),
        needs_target=True,
    ),
    "examples": Action(
        "Use as examples",
        'Judge files with `draw = "chosen"` show them, with people’s labels, beside other queries.',
        "chosen as examples",
        lambda chosen: selectable_units(chosen.campaign, chosen.units),
        lambda chosen, by: choose_examples(chosen.campaign, chosen.units, by),
    ),
}


def targets_of(campaign: Campaign, user: User | None) -> list[Campaign]:
    """Return the campaigns that may get gold answers from this one.

    An account with open items in a campaign does not learn its gold answers.
    """
    found = gold_targets(campaign, user)
    return found if user is None else [each for each in found if not is_blind(user, each)]


def target_named(campaign: Campaign, name: str, user: User | None) -> Campaign:
    """Return the campaign of this name that may get gold answers. Raises ActionError."""
    found = targets_of(campaign, user)
    for each in found:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in found)
    offered = f"choose one of {known}" if known else "create one over the same batch first"
    said = f"{name!r} cannot get gold answers from {campaign}" if name else "no campaign is named"
    raise ActionError(f"{said}; {offered}")


def plan_action(action: Action, chosen: SelectedUnits) -> Selection:
    """Return the units that an action can take. Raises ActionError."""
    if len(chosen.units) > MOST:
        raise ActionError(
            f"the list has {chosen.count(len(chosen.units))}, and at most {MOST:,} are taken at "
            "once; restrict it by a filter"
        )
    return action.possible(chosen)


def carry_out(action: Action, chosen: SelectedUnits, by: User | None) -> tuple[int, Selection]:
    """Carry out an action. Return how many units it took, and what it could take.

    Raises ActionError if it can take none.
    """
    found = plan_action(action, chosen)
    if not found.units:
        raise ActionError("; ".join(sentences(action, found, chosen)))
    try:
        return action.carry_out(replace(chosen, units=found.units), by), found
    except InputError as error:
        raise ActionError(f"{error.wrong}; {error.remedy}") from error


def sentences(action: Action, found: Selection, chosen: SelectedUnits) -> Iterator[str]:
    """Yield sentences on how many units an action can take, and why not the others."""
    total = len(found.units) + sum(found.refused.values())
    yield f"{len(found.units):,} of {chosen.count(total)} can be {action.done}"
    for reason, number in sorted(found.refused.items(), key=lambda each: -each[1]):
        yield f"{number:,} cannot: {reason}"


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
