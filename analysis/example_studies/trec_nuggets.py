"""TREC's RAG Track: a nugget bank for each topic, and which nuggets the runs' answers contain.

A judge writes key points from the passages of each topic and merges them, and people correct both
in the preparation. They become the nuggets. Three people say which are vital, and which are no
nuggets at all. Then one assessor owns each topic, and a second one reads a quarter of its answers:
they and a judge say which nuggets each answer contains, and how far the passages that it cites
support it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Literal

from analysis.example_studies.base import ExampleStudy
from analysis.example_studies.world import (
    Line,
    Report,
    Topic,
    jsonl,
    label,
    labels_with_one_error,
    said,
    seeded,
    text_of,
    topics,
    with_reports,
)

SEED, TOPICS = 2024, 12
RATERS = ("nora", "omar", "pia")
ASSESSORS = (*RATERS, "quim")
OVERLAP = 0.25
"""The share of the answers that two assessors read."""
JUDGE, WRITER = "assessor-model", "nugget-writer"
ERRORS = {"nora": 0.05, "omar": 0.07, "pia": 0.09, "quim": 0.06, JUDGE: 0.12}
IMPORTANCE = ("okay", "vital", "not-a-nugget")
ASSIGNED, SUPPORTED = ("none", "partial", "support"), ("none", "partial", "full")
VITAL = 5
"""The number of vital nuggets of a topic."""
PASSAGES = ((0, 1, 4), (2, 3), (4, 5), (6, 7, 0), (8, 9), (1, 8))
"""The facts that each passage of a topic states. Several state the same, so they are merged."""
RUNS = {
    "baseline-8b": (0.3, 0.6),
    "baseline-70b": (0.45, 0.7),
    "rerank-8b": (0.4, 0.75),
    "rerank-70b": (0.6, 0.8),
    "agentic-70b": (0.75, 0.7),
    "iterative-32b": (0.66, 0.9),
    "no-retrieval": (0.5, 0.3),
}
"""The share of facts that each run's answers contain, and how often a citation is right."""
LACKING = ("no-retrieval", "t12")
"""A run that has no answer to a topic, which then counts as 0."""
BOAST = ", which has no equal in the country."
"""What a sentence adds to a fact, and no passage states."""
VAGUE = (
    "The {it} was built long ago.",
    "A single designer drew the {it}.",
    "The {it} is made of a local material.",
    "The {it} cost more than ten thousand crowns.",
    "The {it} was closed for a time.",
    "The {it} has opened again after some years.",
    "The {it} has a single owner today.",
    "The {it} gives work to a few people.",
    "Many people visit the {it}.",
    "The {it} has a second use.",
)
"""What contains a fact only in part."""
MISSED, BOASTED, KEPT_APART = 0.08, 0.12, 0.5
"""How often the judge that writes misses a point of a passage, adds to it what the passage does not
say, and keeps one of a topic's repeated points apart."""
State = Literal["plain", "boast", "vague"]


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer: its fact, how it says it, and the numbers of cited passages."""

    fact: int
    state: State
    text: str
    cited: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Answer(Report):
    """A run's answer with what its sentences say."""

    stated: Sequence[Sentence]
    sentence_citations: Sequence[Sequence[str]]

    def as_line(self) -> Line:
        return Report.as_line(self) | {"sentence_citations": self.sentence_citations}


def _opening(topic: Topic) -> str:
    return f"Few travellers have heard of {topic.name}."


def _vague(topic: Topic, n: int) -> str:
    return VAGUE[n].format(it=topic.name.removeprefix("the "))


def _passage(topic: Topic, number: int) -> str:
    return f"{topic.key}-p{number + 1}"


def _nugget(topic: Topic, n: int) -> str:
    return f"{topic.key}:m{n + 1}"


NOT_A_NUGGET = len(VAGUE)
"""The number of the point that people sort out: the opening of the passages."""


@dataclass(frozen=True)
class Point:
    """A key point of a passage: its number in the topic, what it says, and the passage."""

    number: int
    fact: int
    passage: int


def _points(topic: Topic) -> Iterator[Point]:
    """Yield the points that people keep, in the order in which the step numbers them."""
    numbers = count(1)
    for p, facts in enumerate(PASSAGES):
        for fact in (NOT_A_NUGGET, *facts):
            yield Point(next(numbers), fact, p)


def _text(topic: Topic, fact: int) -> str:
    return _opening(topic) if fact == NOT_A_NUGGET else topic.facts[fact].sentence


def _documents() -> Iterator[Line]:
    for topic in topics(TOPICS, SEED):
        yield {
            "id": topic.key,
            "text": f"I plan a visit to {topic.name}. What should I know about it, and how did it "
            "come about?",
            "passages": [
                {"id": _passage(topic, p), "text": text_of(topic, facts, _opening(topic))}
                for p, facts in enumerate(PASSAGES)
            ],
        }


def _written(topic: Topic, p: int) -> tuple[list[Line], list[Line]]:
    """Return the points that the judge writes from a passage, and what they are once reviewed.

    The judge misses some points, and some of its points say more than the passage.
    """
    written, reviewed = [], []
    for fact in (NOT_A_NUGGET, *PASSAGES[p]):
        draw = seeded(SEED, "writes", topic.key, p, fact).random()
        text = _text(topic, fact)
        right = {"text": text, "evidence": [{"quote": text, "start": None}]}
        reviewed.append(right)
        if fact == NOT_A_NUGGET or draw > MISSED:
            boasts = fact != NOT_A_NUGGET and draw > 1 - BOASTED
            written.append(right | {"text": text[:-1] + BOAST} if boasts else right)
    return written, reviewed


def _merged(topic: Topic) -> tuple[dict[str, Line], dict[str, Line]]:
    """Return the units of the judge's merged list, and those of the reviewed one.

    The reviewed list has each fact once. In some topics the judge keeps one of them apart.
    """
    points = list(_points(topic))
    texts = [_text(topic, fact) for fact in range(NOT_A_NUGGET + 1)]
    placed = {f"{topic.key}:k{point.number}": point.fact + 1 for point in points}
    reviewed = _merged_units(topic, texts, placed)
    draw = seeded(SEED, "merges", topic.key)
    if draw.random() > KEPT_APART:
        return reviewed, reviewed
    repeated = [point for point in points if any(
        other.fact == point.fact and other.number < point.number for other in points
    )]  # fmt: skip
    apart = draw.choice(repeated)
    placed |= {f"{topic.key}:k{apart.number}": len(texts) + 1}
    return _merged_units(topic, [*texts, texts[apart.fact]], placed), reviewed


def _merged_units(topic: Topic, texts: Sequence[str], placed: Mapping[str, int]) -> dict[str, Line]:
    whole = {"repeats": "yes", "merged": [{"text": text, "evidence": []} for text in texts]}
    points = {key: {"placed": "yes", "matches": [number]} for key, number in placed.items()}
    return {topic.key: whole, **points}


def _prepared() -> Iterator[tuple[str, str, dict[str, Line], dict[str, Line]]]:
    """Yield each item of the preparation: its step, key, and units as written and as reviewed."""
    for topic in topics(TOPICS, SEED):
        for p in range(len(PASSAGES)):
            key = f"{topic.key}/{_passage(topic, p)}"
            written, reviewed = (
                {key: {"holds_points": "yes", "points": points}} for points in _written(topic, p)
            )
            yield "key-points", key, written, reviewed
        yield "merging", topic.key, *_merged(topic)


def _of_writer() -> Iterator[Line]:
    kinds = {"holds_points": "passage", "repeats": "query", "placed": "key-point"}
    for _, item, written, _ in _prepared():
        for unit, answer in written.items():
            (variable, code), (name, value) = answer.items()
            line = label(item, unit, kinds[variable], variable, code, WRITER)
            yield line | {"meta": {"written": {name: value}}}


def _reviews(step: str) -> Iterator[Line]:
    """Yield the reviews of a step. One person reviews all that was written about a topic."""
    people = {topic.key: RATERS[n % len(RATERS)] for n, topic in enumerate(topics(TOPICS, SEED))}
    for name, item, written, reviewed in _prepared():
        if name != step:
            continue
        by = people[item.partition("/")[0]]
        if written == reviewed:
            yield {"item": item, "verdict": "accepted", "by": by}
        else:
            yield {"item": item, "verdict": "changed", "answer": reviewed, "by": by}


def _answers(topic: Topic) -> Iterator[Answer]:
    for run, (quality, care) in RUNS.items():
        if (run, topic.key) == LACKING:
            continue
        draw = seeded(SEED, "answer", run, topic.key)
        facts = [n for n in range(len(VAGUE)) if draw.random() < quality] or [0]
        stated = [_sentence(topic, run, n, care) for n in facts]
        cited = [[_passage(topic, p) for p in each.cited] for each in stated]
        sentences = [_opening(topic), *(each.text for each in stated)]
        yield Answer(
            id=f"{topic.key}-{run}",
            text=" ".join(sentences),
            system=run,
            sentences=sentences,
            stated=stated,
            sentence_citations=[[], *cited],
        )


def _sentence(topic: Topic, run: str, n: int, care: float) -> Sentence:
    """Return a run's sentence on a fact. A careful run rarely boasts, and cites what states it."""
    draw = seeded(SEED, "sentence", run, topic.key, n)
    states: tuple[State, ...] = ("plain", "boast", "vague")
    (state,) = draw.choices(states, (0.5 + care / 3, (1 - care) / 2, 0.2))
    fact = topic.facts[n].sentence
    text = {"plain": fact, "boast": fact[:-1] + BOAST, "vague": _vague(topic, n)}[state]
    stating = [p for p, facts in enumerate(PASSAGES) if n in facts]
    others = [p for p in range(len(PASSAGES)) if p not in stating]
    first = draw.choice(stating if draw.random() < care else others)
    second = draw.choice([p for p in range(len(PASSAGES)) if p != first])
    (number,) = draw.choices((0, 1, 2), (0.1, 0.6, 0.3))
    return Sentence(n, state, text, (first, second)[:number])


def vital_facts(topic: Topic) -> set[int]:
    return set(seeded(SEED, "vital", topic.key).sample(range(len(VAGUE)), VITAL))


def assessors(answers: Sequence[tuple[Topic, Answer]]) -> dict[str, tuple[str, ...]]:
    """Return who reads each answer, by the campaign's overlap and fixed shares of whole queries."""

    def draw(text: str) -> bytes:
        return sha256(text.encode()).digest()

    several = sorted(draw(f"0\0items for several people\0{answer.id}") for _, answer in answers)
    last = several[round(OVERLAP * len(answers)) - 1]
    given = dict.fromkeys(ASSESSORS, 0)
    of_topics: dict[str, list[str]] = {}
    found = {}
    for topic, answer in sorted(answers, key=lambda each: draw(f"shares 0 {each[0].key}")):
        readers = 1 + (draw(f"0\0items for several people\0{answer.id}") <= last)
        people = of_topics.setdefault(topic.key, [])
        while len(people) < readers:
            # The person furthest behind their share gets the topic.
            others = (person for person in ASSESSORS if person not in people)
            people.append(min(others, key=given.__getitem__))
        found[answer.id] = tuple(people[:readers])
        given |= {person: given[person] + 1 for person in found[answer.id]}
    return found


def _importance() -> Iterator[Line]:
    for topic in topics(TOPICS, SEED):
        vital = vital_facts(topic)
        for n in range(NOT_A_NUGGET + 1):
            right = "vital" if n in vital else "okay"
            right = "not-a-nugget" if n == NOT_A_NUGGET else right
            draw = seeded(SEED, "importance", topic.key, n)
            given = labels_with_one_error(draw, RATERS, right, IMPORTANCE[:2], 0.35)
            for person, code in given.items():
                unit = _nugget(topic, n)
                yield label(topic.key, unit, "nugget", "importance", code, person)


def _assignment(rater: str, topic: Topic, answer: Answer) -> Iterator[Line]:
    stated = {each.fact: each for each in answer.stated}
    for n in range(NOT_A_NUGGET):
        each = stated.get(n)
        right = "none" if each is None else "partial" if each.state == "vague" else "support"
        seed = SEED, "assigns", rater, answer.id, n
        code = said(*seed, value=right, codes=ASSIGNED, rate=ERRORS[rater])
        # A rater who wrongly finds a nugget quotes the opening.
        quote = each.text if each else _opening(topic)
        at = answer.id, f"{answer.id}/{_nugget(topic, n)}", "report-nugget"
        yield label(*at, "assignment", code, rater, quote if code != "none" else "")


def _support(rater: str, topic: Topic, answer: Answer) -> Iterator[Line]:
    for number, each in enumerate(answer.stated, start=2):
        for passage in each.cited:
            states = each.fact in PASSAGES[passage]
            right = "none" if not states else "partial" if each.state == "boast" else "full"
            seed = SEED, "supports", rater, answer.id, number, passage
            code = said(*seed, value=right, codes=SUPPORTED, rate=ERRORS[rater])
            at = answer.id, f"{answer.id}#{number}/{_passage(topic, passage)}", "sentence-citation"
            line = label(*at, "support", code, rater)
            yield line | {"spans": _quotes(topic, each, passage, code)}


def _quotes(topic: Topic, of: Sentence, passage: int, code: str) -> list[Line]:
    """Return a rater's evidence: the words of the passage, and of a sentence with more than it."""
    states = of.fact in PASSAGES[passage]
    words = topic.facts[of.fact].sentence if states else _opening(topic)
    in_passage = {"field": f"passage:{_passage(topic, passage)}", "text": words}
    in_sentence = {"field": "report", "text": of.text.removesuffix(BOAST).removesuffix(".")}
    return {"none": [], "partial": [in_sentence, in_passage], "full": [in_passage]}[code]


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    every = topics(TOPICS, SEED)
    answers = [(topic, answer) for topic in every for answer in _answers(topic)]
    cited = [each for each in answers if any(each[1].sentence_citations)]
    files = {
        "study.toml": STUDY.format(study=study),
        "documents.jsonl": jsonl(_documents()),
        "runs.jsonl": jsonl(with_reports(({"id": each.key}, _answers(each)) for each in every)),
        f"labels/{WRITER}.jsonl": jsonl(_of_writer()),
        "reviews/key-points.jsonl": jsonl(_reviews("key-points")),
        "reviews/merging.jsonl": jsonl(_reviews("merging")),
        "labels/importance.jsonl": jsonl(_importance()),
    }
    of_judge: list[Line] = []
    for name, labels, read in (
        ("assignment", _assignment, answers),
        ("support", _support, cited),
    ):
        readers = assessors(read)
        lines = (
            line for each in read for rater in readers[each[1].id] for line in labels(rater, *each)
        )
        files[f"labels/{name}.jsonl"] = jsonl(lines)
        of_judge += (line for each in read for line in labels(JUDGE, *each))
    return files | {f"labels/{JUDGE}.jsonl": jsonl(of_judge)}


STUDY = """\
# Nuggets of topics, which of them each answer contains, and citations, as in TREC's RAG Track.
[study]
name = "{study}"
preset = "trec-nuggets"
title = "A made-up study of a nugget bank"
licence = "CC0-1.0"
option = {{ missing_topics = "zero" }}   # a topic that a run lacks counts as 0, as in the track

[batch.{study}-documents]         # topics with their passages
files = ["documents.jsonl"]

[judge.nugget-writer]             # the judges are scripted: they replay files
backend = "scripted"
answers = "labels/nugget-writer.jsonl"

[batch.{study}-points]            # the judge writes key points from each passage. People correct
step = "key-points"               # them: here in a file, otherwise on the page of the preparation
batch = "{study}-documents"
judge = "nugget-writer"
reviews = ["reviews/key-points.jsonl"]

[batch.{study}-merged]            # points that say the same become one, again reviewed by people
step = "merging"
batch = "{study}-points"
judge = "nugget-writer"
reviews = ["reviews/merging.jsonl"]

[batch.{study}-bank]              # the key points as nuggets
rule = "nugget-bank"
batch = "{study}-merged"

[campaign.{study}-importance]     # which nuggets are vital, and which are none?
protocol = "nugget-importance"
batch = "{study}-bank"
raters_per_item = 3
labels = ["labels/importance.jsonl"]

[batch.{study}-nuggets]           # the nuggets with the importance that most people gave them
rule = "rated-nuggets"
from = ["{study}-importance"]

[batch.{study}-runs]              # add the answers of seven runs
files = ["runs.jsonl"]
extends = "{study}-nuggets"

[judge.assessor-model]
backend = "scripted"
granularity = "unit"
answers = "labels/assessor-model.jsonl"

[campaign.{study}-assignment]     # which nuggets does each answer contain?
protocol = "nugget-assignment"
batch = "{study}-runs"
raters_per_item = 2               # one assessor owns a topic, and another one reads a quarter of
overlap = 0.25                    # its answers
option = {{ allotment = "queries" }}
labels = ["labels/assignment.jsonl"]
judges = ["assessor-model"]
# These labels come from a file. For people with accounts, the same split is:
# share = {{ nora = 0.25, omar = 0.25, pia = 0.25, quim = 0.25 }}

[campaign.{study}-support]        # does each cited passage support the sentence that cites it?
protocol = "citation-support"
batch = "{study}-runs"
raters_per_item = 2
overlap = 0.25
option = {{ allotment = "queries" }}
labels = ["labels/support.jsonl"]
judges = ["assessor-model"]
"""

EXAMPLE = ExampleStudy(
    "trec-nuggets",
    "TREC’s RAG Track (Pradeep and others 2025)",
    build,
    (
        "`documents.jsonl`: your topics with passages; or a nugget bank of your own, without the"
        " steps and the rule.",
        "`runs.jsonl`: your runs, as TREC's files or with `sentences` and `sentence_citations`.",
        "Remove `labels = …` and `reviews = …`: `apply` then waits there for people.",
        'Give the judges models: `backend = "openai"`, `model` and `base_url`, without `answers`.',
        "Run `tandem study apply` after each step; it continues from there.",
    ),
    results=("measures", "--campaign", "{study}-assignment", "--option", "missing_topics=zero"),
    prints="compares the runs",
)
