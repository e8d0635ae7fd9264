"""CRUX (Ju and others 2025): passages and reports rated by the sub-questions that they answer.

People and a judge rate each passage; from their ratings follow the questions that can be answered
at all, and the required passages. Reports come afterwards: of the oracle, of seven retrieval
settings, and one written without passages. Their coverage is labelled by people and the judge. More
reports are written from contexts that are drawn at random, and read by one person and the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random

from analysis.example_studies.base import ExampleStudy
from analysis.example_studies.world import (
    Line,
    Topic,
    jsonl,
    label,
    noisy_label,
    rank_passages,
    sample_share,
    text_of,
    topics,
)

SEED, TOPICS, ETA = 2025, 12, 3
PEOPLE = ("anna", "bela", "carl")
READER, JUDGE = "anna", "judge"
ERRORS = {"anna": 0.04, "bela": 0.07, "carl": 0.1, JUDGE: 0.09}
SYSTEMS = {
    "bm25": 0.05,
    "bm25-rerank": 0.16,
    "sparse": 0.1,
    "dense": 0.22,
    "dense-rerank": 0.4,
    "hybrid": 0.3,
    "hybrid-rerank": 0.5,
}
"""The retrieval settings with the quality of their ranking."""
RATINGS = tuple("012345")
RELEVANT, PASSAGES, DEPTH = 8, 24, 20
"""Numbers of a topic's passages: about the topic, in total, and in a ranking."""
SAMPLES, SIZE = 1, 4
"""Random contexts of each system, and their passages."""
NEVER = (3, 8)
"""Facts that no passage states, so that their questions cannot be answered."""


@dataclass(frozen=True)
class Material:
    """A topic with its passages, as the facts that each states."""

    topic: Topic
    passages: Mapping[str, tuple[int, ...]]

    def question(self, n: int) -> str:
        return f"{self.topic.key}:q{n + 1}"


def _material() -> list[Material]:
    found = []
    for topic in topics(TOPICS, SEED):
        draw = Random(f"{SEED} passages {topic.key}")
        facts = [n for n in range(len(topic.facts)) if n not in NEVER]
        passages: dict[str, tuple[int, ...]] = {}
        for n in range(RELEVANT):
            passages[f"{topic.key}-p{n + 1}"] = tuple(sorted(draw.sample(facts, 1 + n % 3)))
        for n in range(RELEVANT, PASSAGES):
            passages[f"{topic.key}-p{n + 1}"] = ()
        found.append(Material(topic, passages))
    return found


def _passage_text(of: Material, key: str, others: list[Material]) -> str:
    if facts := of.passages[key]:
        return text_of(of.topic, facts, f"This is from a guide to {of.topic.name}.")
    # A passage about another place answers nothing.
    draw = Random(f"{SEED} other {key}")
    other = draw.choice([each for each in others if each is not of]).topic
    return text_of(other, draw.sample(range(len(other.facts)), 2), "A page from another guide.")


def _ratings(of: Material, rater: str) -> Iterator[tuple[str, int, str]]:
    """Yield passage, question and rating of one rater, for all of them."""
    for key, facts in of.passages.items():
        # Passages about other places are known not to answer anything, and are not shown.
        for n in range(len(of.topic.facts)) if facts else ():
            draw = Random(f"{SEED} rating {rater} {key} {n}")
            high, low = draw.choice("455"), draw.choice("0001")
            sides = (high, low) if n in facts else (low, high)
            yield key, n, noisy_label(draw, sides[0], sides, ERRORS[rater] / 2)


def _answers(of: Material) -> dict[str, frozenset[int]]:
    """Return the questions that each passage answers, by most people at the threshold."""
    votes: dict[tuple[str, int], int] = {}
    for person in PEOPLE:
        for key, n, rating in _ratings(of, person):
            votes[key, n] = votes.get((key, n), 0) + (int(rating) >= ETA)
    return {
        key: frozenset(n for (k, n), yes in votes.items() if k == key and yes * 2 > len(PEOPLE))
        for key in of.passages
    }


def _required(answers: Mapping[str, frozenset[int]]) -> list[str]:
    seen: set[int] = set()
    kept = []
    for key in sorted(answers, key=lambda each: (-len(answers[each]), each)):
        if answers[key] - seen:
            kept.append(key)
            seen |= answers[key]
    return kept


@dataclass(frozen=True)
class Written:
    """A report: its facts in order, and the passages that it was written from."""

    key: str
    setting: str
    facts: tuple[int, ...]
    context: tuple[str, ...] | None


def _reports(of: Material) -> Iterator[Written]:
    required = _required(_answers(of))
    contexts: dict[str, tuple[str, ...] | None] = {"direct": None, "oracle": tuple(required)}
    contexts |= {name: tuple(_ranking(of, name)[: len(required)]) for name in SYSTEMS}
    for name, context in contexts.items():
        draw = Random(f"{SEED} report {name} {of.topic.key}")
        if context is None:
            facts = sample_share(draw, range(len(of.topic.facts)), 0.25)
        else:
            available = dict.fromkeys(n for key in context for n in of.passages[key])
            facts = sample_share(draw, available, 0.88)
        yield Written(f"{of.topic.key}-{name}", name, tuple(facts), context)


def _ranking(of: Material, system: str) -> list[str]:
    gains = {key: len(facts) for key, facts in of.passages.items()}
    draw = Random(f"{SEED} ranking {system} {of.topic.key}")
    return rank_passages(draw, gains, SYSTEMS[system])[:DEPTH]


def sampled_context(query: str, system: str, ranking: list[str], number: int) -> list[str]:
    """Return a random context of a system, as sampled by the rule sampled-contexts."""

    def place(key: str) -> bytes:
        return sha256(f"0\0context {number} {system} {query}\0{key}".encode()).digest()

    return sorted(ranking, key=place)[:SIZE]


def _sampled_reports(of: Material) -> Iterator[Written]:
    for system in SYSTEMS:
        ranking = _ranking(of, system)
        for number in range(1, SAMPLES + 1):
            key = f"{of.topic.key}-{system}-s{number}"
            context = sampled_context(of.topic.key, system, ranking, number)
            available = dict.fromkeys(n for passage in context for n in of.passages[passage])
            facts = sample_share(Random(f"{SEED} report {key}"), available, 0.88)
            yield Written(key, f"{system}, sample {number}", tuple(facts), tuple(context))


def _report_text(of: Material, facts: tuple[int, ...]) -> str:
    return text_of(of.topic, facts, _opening(of))


def _opening(of: Material) -> str:
    return f"Here is what is known about {of.topic.name}."


def _reference(of: Material) -> tuple[int, ...]:
    return tuple(n for n in range(len(of.topic.facts)) if n not in NEVER)


def _documents(all_of: list[Material]) -> Iterator[Line]:
    for of in all_of:
        yield {
            "id": of.topic.key,
            "text": f"Write a report on {of.topic.name}: its history and what it is used for.",
            "questions": [
                {"id": of.question(n), "text": fact.question}
                for n, fact in enumerate(of.topic.facts)
            ],
            "passages": [
                {"id": key, "text": _passage_text(of, key, all_of), "relevant": bool(facts)}
                for key, facts in of.passages.items()
            ],
            "rankings": [{"system": name, "passages": _ranking(of, name)} for name in SYSTEMS],
            "references": [{"text": _report_text(of, _reference(of))}],
        }


def _systems(
    all_of: list[Material], written: Callable[[Material], Iterator[Written]]
) -> Iterator[Line]:
    for of in all_of:
        yield {
            "id": of.topic.key,
            "text": f"Write a report on {of.topic.name}: its history and what it is used for.",
            "reports": [
                {
                    "id": report.key,
                    "text": _report_text(of, report.facts),
                    "system": report.setting,
                    "setting": report.setting,
                    **({} if report.context is None else {"context": list(report.context)}),
                }
                for report in written(of)
            ],
        }


def _passage_labels(all_of: list[Material], rater: str) -> Iterator[Line]:
    for of in all_of:
        for key, n, rating in _ratings(of, rater):
            item = f"{of.topic.key}/{key}"
            yield label(item, of.question(n), "question", "rating", rating, rater)


def _report_labels(all_of: list[Material], rater: str) -> Iterator[Line]:
    for of in all_of:
        references = Written(f"{of.topic.key}/reference", "reference", _reference(of), None)
        for report in (*_reports(of), references):
            for n in range(len(of.topic.facts)):
                yield from _report_label(of, report, n, rater)


def _sampled_labels(all_of: list[Material], rater: str) -> Iterator[Line]:
    for of in all_of:
        for report in _sampled_reports(of):
            for n in range(len(of.topic.facts)):
                yield from _report_label(of, report, n, rater)


def _report_label(of: Material, report: Written, n: int, rater: str) -> Iterator[Line]:
    draw = Random(f"{SEED} coverage {rater} {report.key} {n}")
    is_stated = n in report.facts
    answer = noisy_label(draw, "yes" if is_stated else "no", ("yes", "no"), ERRORS[rater])
    rating = draw.choice("455") if answer == "yes" else draw.choice("0012")
    # A rater who wrongly says yes quotes the report's opening, since a yes needs a quote.
    opening = _opening(of)
    quote = (of.topic.facts[n].sentence if is_stated else opening) if answer == "yes" else ""
    unit = of.question(n)
    yield label(report.key, unit, "question", "answerable", answer, rater, quote)
    yield label(report.key, unit, "question", "rating", rating, rater)


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    all_of = _material()
    files = {
        "study.toml": STUDY.format(study=study),
        "documents.jsonl": jsonl(_documents(all_of)),
        "reports.jsonl": jsonl(_systems(all_of, _reports)),
        "sampled.jsonl": jsonl(_systems(all_of, _sampled_reports)),
        f"labels/sampled-{READER}.jsonl": jsonl(_sampled_labels(all_of, READER)),
    }
    for person in PEOPLE:
        files[f"labels/passages-{person}.jsonl"] = jsonl(_passage_labels(all_of, person))
        files[f"labels/coverage-{person}.jsonl"] = jsonl(_report_labels(all_of, person))
    files["labels/passages-judge.jsonl"] = jsonl(_passage_labels(all_of, JUDGE))
    judged = (*_report_labels(all_of, JUDGE), *_sampled_labels(all_of, JUDGE))
    files["labels/coverage-judge.jsonl"] = jsonl(judged)
    return files


STUDY = """\
# Passages and reports rated by the sub-questions that they answer, as in CRUX.
[study]
name = "{study}"
preset = "crux"
title = "A made-up study of retrieval contexts and reports"
licence = "CC0-1.0"

[batch.{study}-documents]         # queries, sub-questions, passages, rankings, references
files = ["documents.jsonl"]

[judge.passage-judge]             # both judges are scripted: they replay a file,
backend = "scripted"              # with the prompt and parser of a library judge file
file = "passage-rubric"
family = "made-up"                # the same family, so that they count as one evaluator
answers = "labels/passages-judge.jsonl"

[judge.report-judge]
backend = "scripted"
file = "report-coverage"
family = "made-up"
answers = "labels/coverage-judge.jsonl"

[campaign.{study}-passages]       # how well does each passage answer each sub-question?
protocol = "rubric-passage"
batch = "{study}-documents"
raters_per_item = 3
option = {{ sampling = "all", passages = "relevant" }}
labels = ["labels/passages-anna.jsonl", "labels/passages-bela.jsonl", "labels/passages-carl.jsonl"]
judges = ["passage-judge"]

[batch.{study}-required]          # the fewest passages that answer every answerable sub-question
rule = "required-passages"
from = ["{study}-passages"]
set = {{ eta = 3 }}

[batch.{study}-systems]           # add the systems' reports
files = ["reports.jsonl"]
extends = "{study}-required"

[batch.{study}-reports]           # the reference as another system
rule = "references-as-system"
batch = "{study}-systems"

[campaign.{study}-coverage]       # which sub-questions does each report answer?
protocol = "report-coverage"
batch = "{study}-reports"
raters_per_item = 3
option = {{ variables = "answerable,rating" }}
labels = ["labels/coverage-anna.jsonl", "labels/coverage-bela.jsonl", "labels/coverage-carl.jsonl"]
judges = ["report-judge"]

[batch.{study}-contexts]          # random contexts of each system, for Figure 5
rule = "sampled-contexts"
batch = "{study}-documents"
set = {{ n = 1, size = 4, depth = 20 }}

[batch.{study}-sampled]           # reports written from these contexts
files = ["sampled.jsonl"]
extends = "{study}-contexts"

[campaign.{study}-sampled]
protocol = "report-coverage"
batch = "{study}-sampled"
option = {{ variables = "answerable,rating" }}
labels = ["labels/sampled-anna.jsonl"]
judges = ["report-judge"]
"""

EXAMPLE = ExampleStudy(
    "crux",
    "CRUX (Ju and others 2025)",
    build,
    (
        "`documents.jsonl`: your queries with sub-questions, passages, rankings and references.",
        "`reports.jsonl`: the same query ids with the reports of your systems and their contexts;"
        " `sampled.jsonl` with those from random contexts, or delete the last three tables.",
        "Remove `labels = …` from both campaigns: `apply` then waits there for people's labels.",
        'Give the judges a model: `backend = "openai"`, `model` and `base_url`, without `answers`.',
        "Run `tandem study apply` after each step; it continues from there.",
    ),
)
