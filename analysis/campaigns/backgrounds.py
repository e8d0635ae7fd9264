"""People's answers to a campaign's background questions, as groups for its report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from annotation.models import Campaign
from annotation.people.background import background_lines, questions_of
from annotation.people.consent import revoked_raters
from tandem.labels.backgrounds import Question, halves


def background_questions(campaign: Campaign) -> tuple[Question, ...]:
    """Return the questions with their groups. Free-text answers form no groups."""
    return tuple(_questions(campaign))


def _questions(campaign: Campaign) -> Iterator[Question]:
    said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line in background_lines(campaign, revoked_raters(campaign)):
        if line["value"] is not None:
            said[line["name"]][line["value"]].add(line["rater"])
    for asked in questions_of(campaign):
        given = said[asked.name]
        if asked.kind == "number":
            numbers = {who: float(value) for value, people in given.items() for who in people}
            groups = dict(halves(numbers))
        elif asked.kind in ("choice", "several"):
            removed = sorted(given.keys() - set(asked.choices))
            groups = {value: frozenset(given[value]) for value in (*asked.choices, *removed)}
        else:
            continue
        yield Question(asked.name, asked.question, groups, asked.kind == "several")
