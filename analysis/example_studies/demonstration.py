"""The demonstration's study: enough queries for an answer, and three judges with three answers.

Four systems report on invented public works, and people say which sub-questions each report
answers. Anna, Bela and Carl agree well; Dora, who labels a third of the queries, is careless.
Of the judges, `judge-careful` errs about as often as people do, `judge-eager` takes almost
anything for an answer, and `judge-strict` lies between: too close to call with these queries.
Nearly all disagreements are about sentences that come close to an answer (`public_works`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.example_studies.public_works import KINDS, Works, words_of
from analysis.example_studies.world import (
    PLACES,
    Line,
    Report,
    jsonl,
    label,
    rank_passages,
    seeded,
    with_reports,
)

SEED = 51
SYSTEMS = {"bm25": 0.05, "dense": 0.3, "hybrid-rerank": 0.7}
"""The retrieval settings with the quality of their ranking."""
ORACLE, DEPTH = "oracle-context", 2
"""The setting that gets all relevant passages, and the number of passages that the others get."""
State = Literal["answer", "near", "nothing"]
PER_KIND = 4
"""The number of places with works of a kind."""
STATES: Mapping[bool, tuple[State, ...]] = {
    True: ("answer", "near", "nothing"),
    False: ("near", "nothing"),
}
CHANCES = {True: (0.74, 0.12, 0.14), False: (0.1, 0.9)}
"""What a report says of an aspect, by whether its passages answer the question."""


@dataclass(frozen=True)
class Rater:
    """Who labels: the chance of a yes, by what the report says of the question.

    Of a sentence that comes close, `near` is the chance of the answer that most people give. With
    `near_is_yes`, that is the chance of a yes instead, whatever people say. `seconds` are the least
    and the most that a report takes.
    """

    name: str
    answer: float
    nothing: float
    near: float
    near_is_yes: float | None = None
    seconds: tuple[int, int] = (70, 190)


PEOPLE = (
    Rater("anna", 0.98, 0.01, 0.92),
    Rater("bela", 0.97, 0.02, 0.9),
    Rater("carl", 0.96, 0.02, 0.88),
    Rater("dora", 0.74, 0.26, 0.5, seconds=(6, 14)),
)
JUDGES = (
    Rater("judge-careful", 0.97, 0.015, 0.88),
    Rater("judge-eager", 0.99, 0.95, 0.9, near_is_yes=0.97),
    Rater("judge-strict", 0.74, 0.01, 0.9, near_is_yes=0.06),
)
CARELESS, OF_EVERY = "dora", 3
"""The person who labels only every third query, and these carelessly."""


@dataclass(frozen=True)
class Query:
    """Works of a place, with what is drawn for them."""

    key: str
    works: Works
    words: Mapping[str, str | int]

    def say(self, text: str) -> str:
        return text.format(**self.words)

    def question(self, n: int) -> str:
        return f"{self.key}:q{n + 1}"

    def sentence(self, n: int, state: State) -> str:
        aspect = self.works.aspects[n]
        return self.say(aspect.answer if state == "answer" else aspect.near)

    @property
    def opening(self) -> str:
        return self.say(self.works.opening)

    @property
    def request(self) -> str:
        return self.say(f"Write a short report on the {self.works.name} of {{place}}.")


@dataclass(frozen=True, kw_only=True)
class Written(Report):
    """A system's report on a query, with what it says of each aspect."""

    of: Query
    states: Sequence[State]


def queries() -> list[Query]:
    """Return the queries: each kind of works in some places."""
    found = []
    for number in range(PER_KIND * len(KINDS)):
        kind, place = number % len(KINDS), PLACES[(number // len(KINDS) * 3 + number) % len(PLACES)]
        key = f"w{number + 1:02}"
        found.append(Query(key, KINDS[kind], words_of(place, seeded(SEED, "words", key))))
    return found


ANSWERED_BY: Mapping[str, tuple[int, ...]] = {"p1": (0, 1), "p2": (2,), "p3": (3,)}
"""The aspects that each relevant passage answers. `p3` also comes close to the first."""
OTHERS = ("p4", "p5")
"""Passages about other places."""


def _passages(of: Query, every: list[Query]) -> dict[str, str]:
    texts = {
        "p1": f"{of.opening} {of.sentence(0, 'answer')} {of.sentence(1, 'answer')}",
        "p2": f"{of.opening} {of.sentence(2, 'answer')}",
        "p3": f"{of.sentence(0, 'near')} {of.sentence(3, 'answer')}",
    }
    draw = seeded(SEED, "others", of.key)
    like = [each for each in every if each.words["place"] != of.words["place"]]
    for name, other in zip(OTHERS, draw.sample(like, len(OTHERS)), strict=True):
        texts[name] = f"{other.opening} {other.sentence(1, 'answer')}"
    return {f"{of.key}-{name}": text for name, text in texts.items()}


def _ranking(of: Query, system: str) -> list[str]:
    gains = {f"{of.key}-{name}": len(aspects) for name, aspects in ANSWERED_BY.items()}
    gains |= {f"{of.key}-{name}": 0 for name in OTHERS}
    return rank_passages(seeded(SEED, "ranking", system, of.key), gains, SYSTEMS[system])


def reports(of: Query) -> Iterator[Written]:
    """Yield the systems' reports on a query."""
    relevant = [f"{of.key}-{name}" for name in ANSWERED_BY]
    contexts = {ORACLE: relevant} | {name: _ranking(of, name)[:DEPTH] for name in SYSTEMS}
    for system, context in contexts.items():
        draw = seeded(SEED, "report", system, of.key)
        told = {n for name, ns in ANSWERED_BY.items() for n in ns if f"{of.key}-{name}" in context}
        states = [
            draw.choices(STATES[n in told], CHANCES[n in told])[0]
            for n in range(len(of.works.aspects))
        ]
        stated = (of.sentence(n, state) for n, state in enumerate(states) if state != "nothing")
        yield Written(
            id=f"{of.key}-{system}",
            text=" ".join([of.opening, *stated]),
            system=system,
            setting=system,
            context=context,
            of=of,
            states=states,
        )


def _said(rater: Rater, report: Written, n: int) -> Literal["yes", "no"]:
    """Return a rater's answer to whether the report answers a question."""
    state = report.states[n]
    draw = seeded(SEED, "says", rater.name, report.id, n)
    chance = rater.answer if state == "answer" else rater.nothing
    if state == "near":
        # Most people take a quarter of what comes close for an answer.
        mostly_yes = seeded(SEED, "near", report.id, n).random() < 0.25
        chance = rater.near if mostly_yes else 1 - rater.near
        chance = chance if rater.near_is_yes is None else rater.near_is_yes
    return "yes" if draw.random() < chance else "no"


def _quote(report: Written, n: int, said: str) -> str:
    """Return the evidence of a yes: the sentence, else the opening, since a yes needs a quote."""
    if said == "no":
        return ""
    state = report.states[n]
    return report.of.opening if state == "nothing" else report.of.sentence(n, state)


def reason_for(report: Written, n: int, said: str) -> str:
    """Return a judge's reason for its answer."""
    aspect, state = report.of.works.aspects[n], report.states[n]
    if state == "answer":
        if said == "yes":
            return f"Stated outright: {aspect.subject}."
        return (
            f"The report mentions {aspect.subject} in passing and gives no source for it. I would "
            "not count that as an answer."
        )
    if state == "near":
        if said == "no":
            return f"It comes close: “{report.of.sentence(n, state)}” But: {aspect.gap}"
        return (
            f"The sentence speaks about {aspect.subject}, so a reader of the report learns "
            "something about the question."
        )
    if said == "no":
        return f"Nothing is said about {aspect.subject}."
    return (
        f"The report is about the same {report.of.works.name}, and {aspect.subject} can be "
        "inferred from its account."
    )


def _labels(rater: Rater, every: list[Query], *, reasons: bool = False) -> Iterator[Line]:
    for number, of in enumerate(every):
        if rater.name == CARELESS and number % OF_EVERY:
            continue
        for report in reports(of):
            seconds = seeded(SEED, "time", rater.name, report.id).randint(*rater.seconds)
            for n in range(len(of.works.aspects)):
                said = _said(rater, report, n)
                at = report.id, of.question(n), "question"
                line = label(*at, "answerable", said, rater.name, _quote(report, n, said))
                reason = {"meta": {"reason": reason_for(report, n, said)}}
                yield line | (reason if reasons else {"seconds": seconds})


def _ratings(rater: str, every: list[Query]) -> Iterator[Line]:
    """Yield how well each relevant passage answers each question, from 0 to 5."""
    for of in every:
        for name, aspects in ANSWERED_BY.items():
            for n in range(len(of.works.aspects)):
                draw = seeded(SEED, "rates", rater, of.key, name, n)
                is_near = name == "p3" and n == 0
                # Never across the threshold of 3, since two people who differ there would tie.
                given = draw.choice("344555" if n in aspects else "122" if is_near else "00001")
                passage = f"{of.key}-{name}"
                item, unit = f"{of.key}/{passage}", of.question(n)
                yield label(item, unit, "question", "rating", given, rater)


def _documents(every: list[Query]) -> Iterator[Line]:
    for of in every:
        yield {
            "id": of.key,
            "text": of.request,
            "questions": [
                {"id": of.question(n), "text": of.say(aspect.question)}
                for n, aspect in enumerate(of.works.aspects)
            ],
            "passages": [
                {"id": key, "text": text, "relevant": key.rpartition("-")[2] in ANSWERED_BY}
                for key, text in _passages(of, every).items()
            ],
            "rankings": [{"system": name, "passages": _ranking(of, name)} for name in SYSTEMS],
        }


RATING_PEOPLE = ("anna", "bela")


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    every = queries()
    files = {
        "README.md": README.format(study=study),
        "study.toml": STUDY.format(study=study),
        "documents.jsonl": jsonl(_documents(every)),
        "reports.jsonl": jsonl(
            with_reports(({"id": of.key, "text": of.request}, reports(of)) for of in every)
        ),
    }
    for name in RATING_PEOPLE:
        files[f"labels/passages-{name}.jsonl"] = jsonl(_ratings(name, every))
    for person in PEOPLE:
        files[f"labels/{person.name}.jsonl"] = jsonl(_labels(person, every))
    for judge in JUDGES:
        files[f"labels/{judge.name}.jsonl"] = jsonl(_labels(judge, every, reasons=True))
    return files


README = """\
# {study}: the study of the demonstration

All texts and labels here are made up, and the judges are fakes that replay a file.
`tandem study plan` says what would be done, `tandem study apply` does it, and
`tandem study status` shows the chain. On the site the study is under *Studies*.
A study of your own begins with `tandem init FOLDER --preset crux`, whose README says
which files to replace.
"""

STUDY = """\
# Reports by four systems, labelled by four people and three judges. All of it is made up.
[study]
name = "{study}"
preset = "crux"
title = "A made-up study of reports on public works"
licence = "CC0-1.0"

[batch.{study}-documents]         # queries, sub-questions, passages, rankings
files = ["documents.jsonl"]

[judge.judge-careful]             # all three judges are scripted: they replay a file
backend = "scripted"
granularity = "unit"
answers = "labels/judge-careful.jsonl"

[judge.judge-eager]
backend = "scripted"
granularity = "unit"
answers = "labels/judge-eager.jsonl"

[judge.judge-strict]
backend = "scripted"
granularity = "unit"
answers = "labels/judge-strict.jsonl"

[campaign.{study}-passages]       # how well does each passage answer each sub-question?
protocol = "rubric-passage"
batch = "{study}-documents"
raters_per_item = 2
option = {{ sampling = "all", passages = "relevant" }}
labels = ["labels/passages-anna.jsonl", "labels/passages-bela.jsonl"]

[batch.{study}-required]          # the fewest passages that answer every answerable sub-question
rule = "required-passages"
from = ["{study}-passages"]
set = {{ eta = 3 }}

[batch.{study}-reports]           # add the systems' reports
files = ["reports.jsonl"]
extends = "{study}-required"

[campaign.{study}-coverage]       # which sub-questions does each report answer?
protocol = "report-coverage"
batch = "{study}-reports"
raters_per_item = 3
labels = ["labels/anna.jsonl", "labels/bela.jsonl", "labels/carl.jsonl", "labels/dora.jsonl"]
judges = ["judge-careful", "judge-eager", "judge-strict"]
"""
