"""What raters said of one unit, side by side, under letters instead of names.

The order is drawn for each unit, so that a letter says nothing of the next one, and it is the same
each time; people and judges stand in it alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product
from string import ascii_uppercase

from annotation.adjudication.case import Case
from annotation.adjudication.disputes import counted
from annotation.assigning import shuffled
from annotation.blinding import TURNED
from annotation.models import Label, Span

PURPOSE = "raters for adjudication"


@dataclass(frozen=True)
class Quote:
    """A piece of evidence: code points of the text `field`, or no place where it was not found."""

    field: str
    start: int | None
    end: int | None
    text: str


@dataclass
class Opinion:
    """What one rater said: a code for each variable that he gave one, quotes, and his comment.

    The comment is that on the whole answer, which may have held more units.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict)
    quotes: list[Quote] = field(default_factory=list)
    comment: str = ""


def opinions(case: Case) -> list[Opinion]:
    """The labels that count of a unit, by rater; two queries."""
    by_rater: dict[int, list[Label]] = defaultdict(list)
    labels = counted(case.campaign).filter(unit=case.unit).order_by("pk")
    related = labels.select_related("response__assignment").prefetch_related("spans")
    for label in related:
        by_rater[label.response.assignment.rater_id].append(label)
    purpose = f"{PURPOSE} {case.unit.item.key} {case.unit.name}"
    order = shuffled(map(str, by_rater), case.campaign.seed, purpose)
    return [
        _opinion(case, f"Rater {letters}", by_rater[int(rater)])
        for letters, rater in zip(_letters(), order, strict=False)
    ]


def _opinion(case: Case, name: str, labels: list[Label]) -> Opinion:
    asked = [variable.name for variable in case.schema.of(case.asked.kind)]
    given = {label.variable: label.value for label in labels}
    turned: Mapping[str, str] = TURNED if case.blinding.turned else {}
    return Opinion(
        name,
        {each: turned.get(given[each], given[each]) for each in asked if each in given},
        [_quote(case, span) for label in labels for span in label.spans.all()],
        labels[0].response.comment,
    )


def _quote(case: Case, span: Span) -> Quote:
    return Quote(case.aliases.get(span.field, ""), span.start, span.end, span.quote)


def _letters() -> Iterator[str]:
    """A to Z, then AA and on."""
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))
