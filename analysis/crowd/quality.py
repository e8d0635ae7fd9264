"""The quality of people's work while it goes on: agreement by person, and all hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.crowd.agreement import WithOthers, with_others
from analysis.crowd.reading import Newest, Said, newest_labels
from analysis.crowd.standing_out import apart, one_sided
from annotation.models import Campaign
from annotation.presentation import schema
from annotation.progress.counts import kept
from annotation.progress.flags import Hint, hints
from annotation.progress.status import Standing, standing
from annotation.protocols.base import Variable


@dataclass(frozen=True)
class Quality:
    """By variable how each person agrees with the others, and what stands out; from `labels` of
    people, the newest alone where `is_part`."""

    labels: int
    is_part: bool
    names: Mapping[int, str]
    excluded: Mapping[int, str]
    agreement: Mapping[str, tuple[WithOthers, ...]]
    hints: tuple[Hint, ...]

    def of(self, rater: int) -> dict[str, WithOthers]:
        """One person's agreement, by variable."""
        return {
            variable: each
            for variable, rows in self.agreement.items()
            for each in rows
            if each.rater == rater
        }


def quality(campaign: Campaign) -> Quality:
    """As it is now; of many labels, as it was a minute ago."""
    people = standing(campaign)
    out = ",".join(str(each.rater) for each in people.people if each.excluded)
    return kept(f"quality-{campaign.pk}-{out}", lambda: _sized(_quality(campaign, people)))


def _sized(found: Quality) -> tuple[Quality, int]:
    return found, found.labels


def _quality(campaign: Campaign, people: Standing) -> Quality:
    names = {each.rater: each.name for each in people.people}
    excluded = {each.rater: each.excluded for each in people.people if each.excluded}
    read = newest_labels(campaign)
    agreement: dict[str, tuple[WithOthers, ...]] = {}
    found: list[Hint] = hints(campaign, people.people)
    for variable in _asked(campaign, read):
        said = read.variables[variable.name]
        rows = _agreement(said, variable, excluded)
        agreement[variable.name] = tuple(rows)
        found += one_sided(said, variable.escapes, names, excluded)
        found += apart(said, rows, names)
    return Quality(read.labels, read.is_part, names, excluded, agreement, _ordered(found))


def _asked(campaign: Campaign, read: Newest) -> Iterable[Variable]:
    """The variables that anybody has labelled, each once, in the protocol's order."""
    asked = {variable.name: variable for variable in schema(campaign).variables}
    return [variable for name, variable in asked.items() if name in read.variables]


def _agreement(said: Said, variable: Variable, out: Mapping[int, str]) -> list[WithOthers]:
    codes, k = said.recoded(variable.codes), max(1, len(variable.codes))
    return with_others(said.raters, codes, said.queries, k, variable.level != "nominal", out)


def _ordered(found: Iterable[Hint]) -> tuple[Hint, ...]:
    return tuple(sorted(found, key=lambda each: (each.name, each.code, each.variable or "")))
