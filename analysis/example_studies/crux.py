"""CRUX (Ju and others 2025): passages and reports rated by the sub-questions that they answer.

People and a judge rate each passage; from their ratings follow the questions that can be answered
at all, and the required passages. Reports come afterwards: of the oracle, of seven retrieval
settings, and one written without passages. Their coverage is labelled by people and the judge. More
reports are written from contexts that are drawn at random, and read by one person and the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from analysis.example_studies.base import ExampleStudy
from analysis.example_studies.world import (
    YES_OR_NO,
    Line,
    Report,
    Topic,
    jsonl,
    label,
    noisy_label,
    rank_passages,
    sample_share,
    seeded,
    text_of,
    topics,
    with_reports,
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
RELEVANT, PASSAGES, DEPTH = 8, 24, 20
"""Numbers of a topic's passages: about the topic, in total, and in a ranking."""
SAMPLES, SIZE = 1, 4
"""Random contexts of each system, and their passages."""
NEVER = (3, 8)
"""Facts that no passage states, so that their questions cannot be answered."""


@dataclass(frozen=True, kw_only=True)
class Written(Report):
    """A report with its facts in order."""

    facts: tuple[int, ...]


@dataclass(frozen=True)
class Material:
    """A topic with its passages, as the facts that each states."""

    topic: Topic
    passages: Mapping[str, tuple[int, ...]]

    @property
    def request(self) -> str:
        return f"Write a report on {self.topic.name}: its history and what it is used for."

    @property
    def opening(self) -> str:
        return f"Here is what is known about {self.topic.name}."

    def question(self, n: int) -> str:
        return f"{self.topic.key}:q{n + 1}"

    def report(
        self, key: str, setting: str, facts: Iterable[int], context: Sequence[str] | None = None
    ) -> Written:
        """Return a report with these facts in order, and the passages it was written from."""
        stated = tuple(facts)
        text = text_of(self.topic, stated, self.opening)
        return Written(
            id=key, text=text, system=setting, setting=setting, context=context, facts=stated
        )


Reports = Callable[[Material], Iterator[Written]]
"""The reports of a topic that are written or labelled together."""


def _material() -> list[Material]:
    found = []
    for topic in topics(TOPICS, SEED):
        draw = seeded(SEED, "passages", topic.key)
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
    draw = seeded(SEED, "other", key)
    other = draw.choice([each for each in others if each is not of]).topic
    return text_of(other, draw.sample(range(len(other.facts)), 2), "A page from another guide.")


def _ratings(of: Material, rater: str) -> Iterator[tuple[str, int, str]]:
    """Yield passage, question and rating of one rater, for all of them."""
    for key, facts in of.passages.items():
        # Passages about other places are known not to answer anything, and are not shown.
        for n in range(len(of.topic.facts)) if facts else ():
            draw = seeded(SEED, "rating", rater, key, n)
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


def _reports(of: Material) -> Iterator[Written]:
    required = _required(_answers(of))
    contexts: dict[str, tuple[str, ...] | None] = {"direct": None, "oracle": tuple(required)}
    contexts |= {name: tuple(_ranking(of, name)[: len(required)]) for name in SYSTEMS}
    for name, context in contexts.items():
        draw = seeded(SEED, "report", name, of.topic.key)
        if context is None:
            facts = sample_share(draw, range(len(of.topic.facts)), 0.25)
        else:
            facts = sample_share(draw, _stated(of, context), 0.88)
        yield of.report(f"{of.topic.key}-{name}", name, facts, context)


def _stated(of: Material, context: Iterable[str]) -> dict[int, None]:
    return dict.fromkeys(n for key in context for n in of.passages[key])


def _ranking(of: Material, system: str) -> list[str]:
    gains = {key: len(facts) for key, facts in of.passages.items()}
    draw = seeded(SEED, "ranking", system, of.topic.key)
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
            facts = sample_share(seeded(SEED, "report", key), _stated(of, context), 0.88)
            yield of.report(key, f"{system}, sample {number}", facts, context)


def _reference(of: Material) -> Written:
    facts = (n for n in range(len(of.topic.facts)) if n not in NEVER)
    return of.report(f"{of.topic.key}/reference", "reference", facts)


def _documents(all_of: list[Material]) -> Iterator[Line]:
    for of in all_of:
        yield {
            "id": of.topic.key,
            "text": of.request,
            "questions": [
                {"id": of.question(n), "text": fact.question}
                for n, fact in enumerate(of.topic.facts)
            ],
            "passages": [
                {"id": key, "text": _passage_text(of, key, all_of), "relevant": bool(facts)}
                for key, facts in of.passages.items()
            ],
            "rankings": [{"system": name, "passages": _ranking(of, name)} for name in SYSTEMS],
            "references": [{"text": _reference(of).text}],
        }


def _systems(all_of: list[Material], written: Reports) -> Iterator[Line]:
    return with_reports(({"id": of.topic.key, "text": of.request}, written(of)) for of in all_of)


def _passage_labels(all_of: list[Material], rater: str) -> Iterator[Line]:
    for of in all_of:
        for key, n, rating in _ratings(of, rater):
            item = f"{of.topic.key}/{key}"
            yield label(item, of.question(n), "question", "rating", rating, rater)


def _with_reference(of: Material) -> Iterator[Written]:
    yield from _reports(of)
    yield _reference(of)


def _report_labels(all_of: list[Material], written: Reports, rater: str) -> Iterator[Line]:
    for of in all_of:
        for report in written(of):
            for n in range(len(of.topic.facts)):
                yield from _report_label(of, report, n, rater)


def _report_label(of: Material, report: Written, n: int, rater: str) -> Iterator[Line]:
    draw = seeded(SEED, "coverage", rater, report.id, n)
    is_stated = n in report.facts
    answer = noisy_label(draw, "yes" if is_stated else "no", YES_OR_NO, ERRORS[rater])
    rating = draw.choice("455") if answer == "yes" else draw.choice("0012")
    # A rater who wrongly says yes quotes the report's opening, since a yes needs a quote.
    quote = (of.topic.facts[n].sentence if is_stated else of.opening) if answer == "yes" else ""
    at = report.id, of.question(n), "question"
    yield label(*at, "answerable", answer, rater, quote)
    yield label(*at, "rating", rating, rater)


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    all_of = _material()
    files = {
        "study.toml": STUDY.format(study=study),
        "documents.jsonl": jsonl(_documents(all_of)),
        "reports.jsonl": jsonl(_systems(all_of, _reports)),
        "sampled.jsonl": jsonl(_systems(all_of, _sampled_reports)),
        f"labels/sampled-{READER}.jsonl": jsonl(_report_labels(all_of, _sampled_reports, READER)),
    }
    for person in PEOPLE:
        files[f"labels/passages-{person}.jsonl"] = jsonl(_passage_labels(all_of, person))
        files[f"labels/coverage-{person}.jsonl"] = jsonl(
            _report_labels(all_of, _with_reference, person)
        )
    files["labels/passages-judge.jsonl"] = jsonl(_passage_labels(all_of, JUDGE))
    files["labels/coverage-judge.jsonl"] = "".join(
        jsonl(_report_labels(all_of, written, JUDGE))
        for written in (_with_reference, _sampled_reports)
    )
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
