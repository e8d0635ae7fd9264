"""Stored drafts, and the tags of disagreements that they begin with, in groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from analysis.campaigns.frames import campaign_strata
from analysis.models import Draft, UnitTag, digest
from annotation.campaigns.settings import LONGEST_GUIDELINE
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Item, Unit, User
from annotation.presentation import preload, whole_guideline, words_of_unit
from audit.recording import record
from judging.models import Judge
from judging.runs.prompts import prompt_for
from judging.trials.drafts import DraftError, DraftText, check_text, ensure_draft_trial
from tandem.labels.selection import OWN_STRATA

LOOK = "draft"
MOST = 500
"""The maximum number of tagged units on a page; the newest are shown."""
NO_SECTION = "no section"
_HEADING = re.compile(r"^#{1,4}\s+(.+?)\s*#*\s*$", re.MULTILINE)


@dataclass(frozen=True)
class TaggedUnit:
    """A tagged unit with its words, and the values of its slices."""

    tag: UnitTag
    words: str
    query: str
    slices: Mapping[str, str]


@dataclass
class Group:
    """The tagged units with a common value, such as a question, and their tags."""

    name: str
    units: list[TaggedUnit] = field(default_factory=list)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """The tags in words with their numbers, the most frequent first."""
        found = Counter(str(each.tag.get_tag_display()) for each in self.units)
        return found.most_common()


@dataclass(frozen=True)
class TaggedUnits:
    """The tagged units of a campaign (`total` in all), and their groupings by name."""

    units: Sequence[TaggedUnit]
    total: int
    groups: Mapping[str, Sequence[Group]]


def sections_of(guideline: str) -> list[str]:
    """Return the headings of a guideline in Markdown, each once."""
    return list(dict.fromkeys(each[:200] for each in _HEADING.findall(guideline)))


def group_tags(campaign: Campaign, tag: str = "") -> TaggedUnits:
    """Group the tagged units of a campaign, with one tag or any, newest first."""
    rows = UnitTag.objects.filter(unit__item__campaign=campaign)
    rows = rows.filter(tag=tag) if tag else rows
    related = ("unit__item__query", "unit__item__report", "by")
    newest = list(rows.select_related(*related).order_by("-changed_at", "-pk")[:MOST])
    saw_answers(LOOK, campaign, units=[each.unit_id for each in newest])
    units = list(_tagged_units(campaign, newest))
    ways: dict[str, Iterable[tuple[str, TaggedUnit]]] = {
        "Section of the guideline": ((each.tag.section or NO_SECTION, each) for each in units),
        "Question": ((each.words, each) for each in units),
        "Query": ((each.query, each) for each in units),
        "Variable": ((each.tag.variable, each) for each in units),
    }
    for name in dict.fromkeys(name for each in units for name in each.slices):
        ways[name.capitalize()] = [(each.slices.get(name, "–"), each) for each in units]
    groups = {name: _by_size(pairs) for name, pairs in ways.items()}
    shown = {name: found for name, found in groups.items() if len(found) > 1 or name in TOLD}
    return TaggedUnits(units, rows.count(), shown)


TOLD = ("Section of the guideline", "Question")
"""Ways of grouping that are shown even if all units have the same value."""


def _tagged_units(campaign: Campaign, tags: Sequence[UnitTag]) -> Iterator[TaggedUnit]:
    items: dict[int, Item] = {}
    for tag in tags:
        tag.unit.item = items.setdefault(tag.unit.item_id, tag.unit.item)
        tag.unit.item.campaign = campaign
    preload(campaign, items.values())
    strata = campaign_strata(campaign) if tags else {}
    for tag in tags:
        yield _tagged_unit(tag, tag.unit, strata)


def _tagged_unit(tag: UnitTag, unit: Unit, strata: Mapping[str, Mapping[str, str]]) -> TaggedUnit:
    item, report = unit.item, unit.item.report
    own = {name: getattr(report, name) for name in OWN_STRATA} if report else {}
    slices = {**own, **{name: of.get(item.key) for name, of in strata.items()}}
    words = words_of_unit(item, unit.name)
    return TaggedUnit(tag, words, item.query.text, {k: v for k, v in slices.items() if v})


def _by_size(pairs: Iterable[tuple[str, TaggedUnit]]) -> list[Group]:
    """Return the groups, the largest first."""
    found: dict[str, Group] = {}
    for name, each in pairs:
        found.setdefault(name, Group(name)).units.append(each)
    return sorted(found.values(), key=lambda group: (-len(group.units), group.name))


MAX_NOTE = 1000


def present_text(campaign: Campaign, judge: Judge | None) -> str:
    """Return the text that a draft changes: the judge's prompt or file, or the guideline."""
    return whole_guideline(campaign) if judge is None else prompt_for(judge, campaign)


def is_behind(draft: Draft) -> bool:
    """Return whether the text that a draft began from has changed since."""
    return digest(_plain(present_text(draft.campaign, draft.judge))) != draft.base_sha256


def is_adopted(draft: Draft) -> bool:
    """Return whether the draft's text is the campaign's guideline, or the prompt of some judge."""
    if draft.judge is None:
        return _plain(present_text(draft.campaign, None)) == draft.text
    field = "file" if draft.judge.file else "prompt"
    return Judge.objects.filter(base=None, **{field: draft.text}).exists()


def begin(campaign: Campaign, judge: Judge | None, text: str, note: str, by: User | None) -> Draft:
    """Store a new draft of a judge's prompt or, without a judge, of the guideline.

    Raises DraftError.
    """
    base, text = _plain(present_text(campaign, judge)), _plain(text)
    kind = Draft.Kind.GUIDELINE if judge is None else Draft.Kind.PROMPT
    _check(judge, kind, text, note)
    with transaction.atomic():
        draft = Draft.objects.create(
            campaign=campaign, kind=kind, judge=judge, base=base, base_sha256=digest(base),
            text=text, note=note.strip(), by=by,
        )  # fmt: skip
        record("draft.made", campaign.pk, draft, after=digest(text), kind=str(kind))
    return draft


def change(draft: Draft, text: str, note: str, from_present: bool = False) -> None:
    """Store a draft's new text and note. `from_present` takes the current text as its new base.

    Raises DraftError.
    """
    text = _plain(text)
    _check(draft.judge, draft.kind, text, note)
    with transaction.atomic():
        locked = Draft.objects.select_for_update().get(pk=draft.pk)
        before = digest(locked.text)
        locked.text, locked.note = text, note.strip()
        if from_present:
            locked.base = _plain(present_text(draft.campaign, draft.judge))
            locked.base_sha256 = digest(locked.base)
        locked.save()
        record("draft.changed", draft.campaign_id, draft, before=before, after=digest(text))
    draft.refresh_from_db()


def set_state(draft: Draft, state: str) -> None:
    """Discard a draft, or open it again. Raises DraftError for another state."""
    if state not in Draft.State.values:
        states = " or ".join(Draft.State.values)
        raise DraftError(f"there is no state {state!r}; give {states}")
    with transaction.atomic():
        if Draft.objects.filter(pk=draft.pk).exclude(state=state).update(state=state):
            record("draft.changed", draft.campaign_id, draft, state=state)
    draft.refresh_from_db()


def trial_of(draft: Draft, judge: Judge) -> Judge:
    """Return the trial of a draft's current text with a judge, created if needed.

    No request is sent yet. Raises DraftError.
    """
    if draft.text == draft.base:
        raise DraftError("the draft has the same text as before; change it first")
    words = DraftText(draft.pk, draft.kind, draft.text)
    with transaction.atomic():
        trial = ensure_draft_trial(draft.campaign, draft.judge or judge, words)
        record("draft.tried", draft.campaign_id, draft, after=digest(draft.text), trial=trial.pk)
    return trial


def _check(judge: Judge | None, kind: str, text: str, note: str) -> None:
    if not text:
        raise DraftError("the draft has no text; write one")
    if len(text) > LONGEST_GUIDELINE:
        raise DraftError(f"a draft has at most {LONGEST_GUIDELINE:,} characters; shorten it")
    if "\0" in text + note:
        raise DraftError("the draft contains a NUL character; remove it")
    if len(note) > MAX_NOTE:
        raise DraftError(f"a note has at most {MAX_NOTE:,} characters; shorten it")
    if judge is not None:
        check_text(judge, kind, text)


def _plain(text: str) -> str:
    """Return a text with plain line ends and without blanks around it."""
    return text.replace("\r\n", "\n").strip()
