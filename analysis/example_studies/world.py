"""A made-up world for the example studies: fictitious places, facts about them, and their raters.

Everything follows from a seed, in words of our own. A text is a list of facts, so it is known which
questions it answers. People and judges err with known rates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")
Line = dict[str, Any]
YES_OR_NO = ("yes", "no")

KINDS = (
    "lighthouse",
    "watermill",
    "cable ferry",
    "observatory",
    "tramway",
    "lending library",
    "herb garden",
    "brewery",
    "clock tower",
    "swing bridge",
)
PLACES = (
    "Varnholm",
    "Ostrel",
    "Lindauve",
    "Kessmoor",
    "Tarvik",
    "Brannoch",
    "Silvera",
    "Hollmark",
    "Pellin",
    "Quennet",
    "Dorrick",
    "Amberlo",
    "Wexholt",
    "Nordrun",
    "Felsby",
    "Garrow",
    "Iltmere",
    "Juvel",
    "Marrowby",
    "Rostan",
    "Umberly",
    "Yarvale",
    "Zellbruck",
    "Corvey",
)
PEOPLE = ("Ida Marn", "Tomas Vell", "Greta Olin", "Paul Dreesen", "Mira Kost", "Jonas Hale")
MATERIALS = ("grey granite", "oak and slate", "red brick", "cast iron", "whitewashed stone")
EVENTS = ("a flood in the valley", "a fire in the engine room", "a landslip", "a hard winter")
OWNERS = ("the town", "a foundation", "the county", "a family of millers", "a cooperative")
USES = ("weddings in summer", "a school of navigation", "a weekly market", "concerts on Sundays")
ATTRIBUTES = (
    ("When was the {it} built?", "The {it} was built in {year}."),
    ("Who designed the {it}?", "{person} designed the {it}."),
    ("What is the {it} made of?", "The {it} is made of {material}."),
    ("What did the {it} cost?", "The {it} cost {thousands} thousand crowns."),
    ("Why did the {it} close for a time?", "The {it} closed after {event}."),
    ("When did the {it} open again?", "The {it} opened again in {later}."),
    ("Who owns the {it} today?", "Today the {it} belongs to {owner}."),
    ("How many people work at the {it}?", "{staff} people work at the {it}."),
    ("How many visitors does the {it} have?", "About {visitors} hundred people visit the {it}."),
    ("What else is the {it} used for?", "The {it} is also used for {use}."),
)


@dataclass(frozen=True)
class Fact:
    """A fact with the question that it answers."""

    question: str
    sentence: str


@dataclass(frozen=True)
class Topic:
    """A place with its facts, in a fixed order."""

    key: str
    name: str
    kind: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A system's report or answer, as a batch holds it. What is None is left out."""

    id: str
    text: str
    system: str
    setting: str | None = None
    context: Sequence[str] | None = None
    citations: Sequence[str] | None = None
    sentences: Sequence[str] | None = None
    deflected: bool | None = None
    key_points: Sequence[Line] | None = None

    def as_line(self) -> Line:
        found = {each.name: getattr(self, each.name) for each in fields(Report)}
        return {name: value for name, value in found.items() if value is not None}


def with_reports(queries: Iterable[tuple[Line, Iterable[Report]]]) -> Iterator[Line]:
    """Yield the lines of queries with the reports of systems."""
    for query, reports in queries:
        yield query | {"reports": [each.as_line() for each in reports]}


def topics(number: int, seed: int) -> list[Topic]:
    """Return some places, each with one fact for each attribute."""
    return [_topic(n, Random(f"{seed} topic {n}")) for n in range(number)]


def _topic(n: int, draw: Random) -> Topic:
    kind, place = KINDS[n % len(KINDS)], PLACES[n % len(PLACES)]
    year = draw.randint(1740, 1899)
    words = {
        # Each sentence names the place, so that it is true of only one.
        "it": f"{kind} of {place}",
        "year": year,
        "later": year + draw.randint(12, 60),
        "person": draw.choice(PEOPLE),
        "material": draw.choice(MATERIALS),
        "thousands": draw.randint(11, 98),
        "event": draw.choice(EVENTS),
        "owner": draw.choice(OWNERS),
        "staff": draw.randint(3, 40),
        "visitors": draw.randint(20, 90),
        "use": draw.choice(USES),
    }
    facts = tuple(Fact(ask.format(**words), say.format(**words)) for ask, say in ATTRIBUTES)
    return Topic(f"t{n + 1:02}", f"the {kind} of {place}", kind, facts)


def text_of(topic: Topic, facts: Iterable[int], before: str = "") -> str:
    """Return a text that states these facts, in this order."""
    sentences = [topic.facts[n].sentence for n in facts]
    return " ".join([before, *sentences] if before else sentences)


def sample_share(draw: Random, values: Iterable[T], share: float) -> list[T]:
    """Return a random share of values, each by itself."""
    return [value for value in values if draw.random() < share]


def seeded(*parts: object) -> Random:
    """Return random numbers that follow from these parts alone."""
    return Random(" ".join(map(str, parts)))


def noisy_label(draw: Random, value: str, codes: Sequence[str], rate: float) -> str:
    """Return a code as given by a rater with this error rate."""
    others = [code for code in codes if code != value]
    return draw.choice(others) if others and draw.random() < rate else value


def said(*seed: object, value: str, codes: Sequence[str] = YES_OR_NO, rate: float) -> str:
    """Return a code as given by a rater with this error rate, drawn by its own seed."""
    return noisy_label(seeded(*seed), value, codes, rate)


def label(
    item: str, unit: str, kind: str, variable: str, value: str, rater: str, quote: str = ""
) -> Line:
    """Return a line of a labels file, with a quote as its evidence if there is one."""
    line: Line = {
        "item": item,
        "unit": unit,
        "kind": kind,
        "variable": variable,
        "value": value,
        "rater": rater,
    }
    return line | ({"spans": [{"field": "report", "text": quote}]} if quote else {})


def noisy_labels(
    draw: Random,
    at: tuple[str, str, str],
    rater: str,
    wanted: Iterable[tuple[str, str, Sequence[str], float]],
) -> Iterator[Line]:
    """Yield a rater's labels of one unit: variables, each with its code, codes and error rate.

    `at` are the item, the unit and its kind.
    """
    for variable, value, codes, rate in wanted:
        yield label(*at, variable, noisy_label(draw, value, codes, rate), rater)


def jsonl(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def rank_passages(draw: Random, gains: Mapping[str, int], quality: float) -> list[str]:
    """Rank passages like a retriever of this quality; 1 is perfect."""
    scores = {
        key: quality * min(gain, 1) + gain / 9 + (1 - quality) * draw.random()
        for key, gain in gains.items()
    }
    return sorted(scores, key=lambda key: (-scores[key], key))


def labels_with_one_error(
    draw: Random, people: Sequence[str], value: str, codes: Sequence[str], rate: float
) -> dict[str, str]:
    """Return each person's label. Occasionally one of them differs, never two.

    So the majority of three people is always right, and results from their labels are known
    beforehand.
    """
    said = dict.fromkeys(people, value)
    others = [code for code in codes if code != value]
    if draw.random() < rate:
        said[draw.choice(list(people))] = draw.choice(others)
    return said
