"""The texts that people wrote in a campaign, from its stored responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q

from annotation.models import Assignment, Campaign, Label, Response
from annotation.people.membership import exclusion_reasons
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.grounded_answer import first_answers, lines_of
from annotation.presentation import schema
from datasets.readers.clapnq import NO_ANSWER
from tandem.sections.extras import Rounds, WrittenAnswers


class WrittenFact(NamedTuple):
    """One person's current answer. `round` is set if the imported file gives it."""

    query: str
    rater: str
    text: str
    round: int | None


def written_answers(campaign: Campaign, with_exposed: bool = False) -> WrittenAnswers | None:
    """Return people's answers by question; None if the campaign asks for none.

    Answers by people who could see others' answers are left out, unless `with_exposed`.

    If the campaign has a prerequisite, the prerequisite has the first answers, and the campaign the
    second ones. Otherwise imported answers name their rounds. A question has a pair if it has
    exactly one usable answer of each round.
    """
    if schema(campaign).written("query") is None:
        return None
    facts = list(_facts(campaign.name, with_exposed))
    usable = [fact for fact in facts if fact.text.strip() not in NO_ANSWER]
    first = prerequisite_of(campaign)
    rounds = _paired_rounds(usable, campaign) if first else _declared_rounds(usable, campaign)
    return WrittenAnswers(_texts(usable), len(facts) - len(usable), rounds)


def _facts(campaign: str, with_exposed: bool) -> Iterator[WrittenFact]:
    """Yield the answers in the order in which the assignments were created."""
    current = Response.objects.filter(
        current=True,
        assignment__item__campaign__name=campaign,
        assignment__rater__kind="human",
        assignment__replicate=0,
        assignment__assisted_by="",
    ).exclude(assignment__rater__name__in=exclusion_reasons(campaign))
    columns = ("assignment__item__query__key", "assignment__rater__name", "payload")
    # Answers of unknown exposure are not counted as exposed.
    unmarked = current if with_exposed else current.exclude(exposed__isnull=False, exposed=True)
    for query, rater, payload in unmarked.order_by("assignment_id").values_list(*columns):
        text = next(filter(None, map(_text, payload["units"].values())), None)
        if text is not None:
            yield WrittenFact(query, rater, text, _round(payload))


def _text(answer: Any) -> str | None:
    """Return the text with uniform line ends, since browsers send other ones."""
    written = answer.get("written")
    return "\n".join(lines_of(written["text"])) if written else None


def _round(payload: Any) -> int | None:
    details = payload.get("details", {}).values()
    metas = (detail.get("meta") or {} for each in details for detail in each.values())
    return next((meta["round"] for meta in metas if "round" in meta), None)


def _texts(facts: list[WrittenFact]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for fact in facts:
        texts.setdefault(fact.query, []).append(fact.text)
    return texts


def _paired_rounds(second: list[WrittenFact], campaign: Campaign) -> Rounds:
    """Pair each second answer with the first answer shown to its writer."""
    there: dict[str, list[tuple[str, str]]] = {}
    columns = ("assignment__item__query__key", "assignment__rater__name", "payload")
    for query, rater, payload in first_answers(campaign).values_list(*columns):
        if text := next(filter(None, map(_text, payload["units"].values())), None):
            there.setdefault(query, []).append((rater, text))
    pairs: dict[str, list[tuple[str, str]]] = {}
    for own in second:
        shown = next((text for by, text in there.get(own.query, ()) if by != own.rater), None)
        if shown is not None:
            pairs.setdefault(own.query, []).append((shown, own.text))
    single = {query: found[0] for query, found in pairs.items() if len(found) == 1}
    return Rounds(single, _count_skips(campaign))


def _declared_rounds(facts: list[WrittenFact], campaign: Campaign) -> Rounds | None:
    rounds = {1: _texts([f for f in facts if f.round == 1])}
    rounds[2] = _texts([f for f in facts if f.round == 2])
    if not rounds[2]:
        return None
    pairs = {
        query: (rounds[1][query][0], texts[0])
        for query, texts in rounds[2].items()
        if len(texts) == 1 == len(rounds[1].get(query, ()))
    }
    return Rounds(pairs, _count_skips(campaign))


def _count_skips(campaign: Campaign) -> int:
    """Count people's skips: declared ones and empty answers."""
    people = Assignment.objects.filter(
        item__campaign=campaign, rater__kind="human", replicate=0, assisted_by=""
    ).exclude(rater__name__in=exclusion_reasons(campaign.name))
    skip = Label.objects.filter(
        response__assignment=OuterRef("pk"), response__current=True, variable="action", value="skip"
    )
    return people.filter(Q(status="declined") | Q(Exists(skip))).count()
