"""CLAPnq (Rosenthal and others 2025): long answers from one passage, in two rounds.

One person selects sentences and answers, another keeps or changes the answer; both become the
references. Systems answer the same questions, answerable and not, and three people and a judge
grade the answers and compare them in pairs. People also grade answers from retrieved passages,
and say which of these passages matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from analysis.example_studies.base import ExampleStudy
from analysis.example_studies.world import (
    YES_OR_NO,
    Line,
    Report,
    Topic,
    jsonl,
    label,
    noisy_labels,
    rank_passages,
    said,
    sample_share,
    seeded,
    topics,
    with_reports,
)

SEED, TOPICS, DISTRACTORS = 2023, 20, 9
FIRST, SECOND = "klara", "lars"
PEOPLE = ("mona", "nils", "olga")
JUDGE = "judge"
ERRORS = {"mona": 0.1, "nils": 0.15, "olga": 0.2, JUDGE: 0.18}
SPLITS = ("train", "train", "dev", "test")
RETRIEVERS = {"bm25": 0.25, "dense": 0.45, "dense-large": 0.7}
SYSTEMS = {"short-3b": (0.5, 0.4), "long-12b": (0.8, 0.6), "careful-70b": (0.9, 0.95)}
"""The share of an answer's facts that a system states, and how often it declines."""
RETRIEVED = 3
"""The passages from which the retrieval setting's answers are written."""
GRADES = tuple("1234")
TELLS = (0, 2, 5)
"""The facts that answer the question, stated by sentences that are not adjacent."""
NOT_KNOWN = "I cannot answer this from the passage."


@dataclass(frozen=True)
class Question:
    """A question with the sentences of its passage, and those that answer it, counted from 1."""

    n: int
    topic: Topic
    sentences: tuple[str, ...]
    selected: tuple[int, ...]

    @property
    def key(self) -> str:
        return self.topic.key

    @property
    def gold(self) -> str:
        return f"{self.key}-gold"

    @property
    def distractors(self) -> list[str]:
        return [f"{self.key}-x{n + 1}" for n in range(DISTRACTORS)]

    @property
    def is_answerable(self) -> bool:
        return bool(self.selected)

    def ranked(self, retriever: str) -> list[str]:
        """Return the passages as a retriever ranks them."""
        gains = {self.gold: 3} | dict.fromkeys(self.distractors, 0)
        draw = seeded(SEED, retriever, self.key)
        return rank_passages(draw, gains, RETRIEVERS[retriever])


def _questions() -> list[Question]:
    found = []
    for n, topic in enumerate(topics(TOPICS, SEED)):
        answerable = n % 3 != 2
        facts = (0, 3, 2, 6, 5, 7) if answerable else (3, 6, 7, 8, 9)
        opening = f"A gazetteer has a page on {topic.name}."
        sentences = (opening, *(topic.facts[each].sentence for each in facts))
        selected = tuple(place + 2 for place, each in enumerate(facts) if each in TELLS)
        found.append(Question(n, topic, sentences, selected))
    return found


def _queries() -> Iterator[Line]:
    for of in _questions():
        yield {
            "id": of.key,
            "text": f"How did {of.topic.name} come about, and why is it as it is?",
            "passages": [
                {
                    "id": of.gold,
                    "title": of.topic.name.capitalize(),
                    "text": " ".join(of.sentences),
                    "sentences": list(of.sentences),
                    "relevant": True,
                },
                *map(_distractor, of.distractors),
            ],
            "rankings": [{"system": name, "passages": of.ranked(name)} for name in RETRIEVERS],
            "meta": {
                "split": SPLITS[of.n % len(SPLITS)],
                "answerable": "yes" if of.is_answerable else "no",
            },
        }


def _distractor(key: str) -> Line:
    goods = seeded(SEED, "distractor", key).choice(("copper", "linen", "salt", "timber"))
    text = f"The market of a nearby village once traded in {goods}, as page {key} says."
    return {"id": key, "text": text, "relevant": False}


def _first_text(of: Question) -> str:
    return " ".join(of.sentences[n - 1] for n in of.selected)


def _second_text(of: Question) -> str:
    """Return the second person's answer, which differs from the first in every third case."""
    text = _first_text(of)
    return f"In short: {text}" if of.n % 3 == 1 else text


def _round(rater: str, second: bool) -> Iterator[Line]:
    for of in _questions():
        units: dict[str, Any] = {}
        for n in range(1, len(of.sentences) + 1):
            chosen = "yes" if n in of.selected else "no"
            units[f"{of.key}/{of.gold}#{n}"] = {"selected": chosen}
        units[of.key] = _written(of, second)
        yield {"item": of.key, "rater": rater, "units": units}


def _written(of: Question, second: bool) -> dict[str, Any]:
    text = _second_text(of) if second else _first_text(of)
    action = {"action": "modify" if text != _first_text(of) else "keep"} if second else {}
    if not of.is_answerable:
        return {"descriptor": "no-answer", "deflected": "yes", **action}
    written = {"text": text, "citations": [of.gold]}
    return {"descriptor": "complete", "deflected": "no", "written": written, **action}


@dataclass(frozen=True, kw_only=True)
class Answer(Report):
    """An answer to be graded, with its quality from 0 to 1."""

    quality: float

    def declining(self, of: Question) -> Answer:
        """Return the same system's answer if it says that it does not know."""
        quality = 0.2 if of.is_answerable else 1.0
        return replace(self, text=NOT_KNOWN, quality=quality, deflected=True)


def _systems_answers(of: Question) -> Iterator[Answer]:
    for system, (share, declining) in SYSTEMS.items():
        key = f"{of.key}-{system}"
        draw = seeded(SEED, "answer", key)
        answer = Answer(
            id=key, text="", system=system, context=[of.gold], deflected=False, quality=0.0
        )
        if draw.random() < (0.05 if of.is_answerable else declining):
            yield answer.declining(of)
            continue
        facts = sample_share(draw, of.selected, share) or [1]
        others = [n for n in range(1, len(of.sentences) + 1) if n not in of.selected]
        facts += sample_share(draw, others, (1 - share) / 2)
        text = " ".join(of.sentences[n - 1] for n in sorted(set(facts)))
        right = len(set(facts) & set(of.selected)) / max(len(of.selected), 1)
        yield replace(answer, text=text, quality=right if of.is_answerable else 0.0)


def _references(of: Question) -> Iterator[Answer]:
    """Yield the references as numbered by the rule, which merges equal texts."""
    texts = list(dict.fromkeys((_first_text(of), _second_text(of))))
    for n, text in enumerate(texts, start=1):
        key = f"{of.key}/reference/{n}" if len(texts) > 1 else f"{of.key}/reference"
        declines = not of.is_answerable
        yield Answer(id=key, text=text, system="reference", deflected=declines, quality=1.0)


def _graded(of: Question) -> list[Answer]:
    return [*_systems_answers(of), *_references(of)]


def _ratings(rater: str) -> Iterator[Line]:
    rate = ERRORS[rater]
    for of in _questions():
        right = "4" if of.is_answerable else "3"
        sure = said(SEED, "certainty", rater, of.key, value=right, codes=GRADES, rate=rate)
        yield label(of.key, of.key, "query", "certainty", sure, rater)
        for answer in _graded(of):
            off = answer.quality < 0.2 and not answer.deflected
            wanted = (
                ("appropriate", _grade(answer), GRADES, rate),
                ("faithful", "4" if answer.system != "short-3b" else "3", GRADES, rate),
                ("natural", "4", GRADES, rate),
                ("abstains", "yes" if answer.deflected else "no", YES_OR_NO, rate / 4),
                ("irrelevant", "yes" if off else "no", YES_OR_NO, rate / 4),
            )
            draw = seeded(SEED, "rating", rater, answer.id)
            yield from noisy_labels(draw, (of.key, answer.id, "report"), rater, wanted)


def _grade(answer: Answer) -> str:
    return str(1 + round(3 * answer.quality))


def _preferences(rater: str) -> Iterator[Line]:
    codes = ("first", "second", "tie-good", "tie-bad")
    for of in _questions():
        for first, second in combinations(_graded(of), 2):
            key = f"{first.id}/{second.id}"
            if abs(first.quality - second.quality) < 0.1:
                right = "tie-good" if first.quality > 0.5 else "tie-bad"
            else:
                right = "first" if first.quality > second.quality else "second"
            seed, rate = (SEED, "preference", rater, key), ERRORS[rater]
            code = said(*seed, value=right, codes=codes, rate=rate)
            yield label(key, key, "pair", "preferred", code, rater)


def _retrieved(of: Question) -> list[str]:
    """Return the passages that the best retriever ranks first."""
    return of.ranked(list(RETRIEVERS)[-1])[:RETRIEVED]


def _from_retrieved(of: Question) -> Iterator[Answer]:
    """Yield the systems' answers, which know nothing where the gold passage was not retrieved."""
    kept = _retrieved(of)
    for each in _systems_answers(of):
        yield replace(each if of.gold in kept else each.declining(of), context=kept)


def _rag() -> Iterator[Line]:
    for line, of in zip(_queries(), _questions(), strict=True):
        passages = {passage["id"]: passage for passage in line["passages"]}
        yield {
            "id": of.key,
            "text": line["text"],
            "passages": [
                {key: value for key, value in passages[each].items() if key != "relevant"}
                for each in _retrieved(of)
            ],
            "reports": [answer.as_line() for answer in _from_retrieved(of)],
            "meta": line["meta"],
        }


def _rag_ratings(rater: str) -> Iterator[Line]:
    """Yield grades of these answers, and which passages matter to the question and the answers."""
    rate = ERRORS[rater]
    for of in _questions():
        answers = list(_from_retrieved(of))
        for answer in answers:
            draw = seeded(SEED, "retrieval rating", rater, answer.id)
            good = ("appropriate", _grade(answer), GRADES, rate), ("faithful", "4", GRADES, rate)
            yield from noisy_labels(draw, (of.key, answer.id, "report"), rater, good)
        for key in _retrieved(of):
            draw = seeded(SEED, "needed", rater, key)
            right = "yes" if key == of.gold and of.is_answerable else "no"
            at = of.key, f"{of.key}/{key}", "passage"
            needed = ("needed_question", right, YES_OR_NO, rate / 2)
            yield from noisy_labels(draw, at, rater, [needed])
            for answer in answers:
                right = "yes" if key == of.gold and not answer.deflected else "no"
                at = of.key, f"{answer.id}/{key}", "report-passage"
                needed = ("needed_answer", right, YES_OR_NO, rate / 2)
                yield from noisy_labels(draw, at, rater, [needed])


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    files = {
        "study.toml": STUDY.format(study=study),
        "questions.jsonl": jsonl(_queries()),
        "answers.jsonl": jsonl(
            with_reports(({"id": q.key}, _systems_answers(q)) for q in _questions())
        ),
        "retrieval.jsonl": jsonl(_rag()),
        "labels/first-round.jsonl": jsonl(_round(FIRST, second=False)),
        "labels/second-round.jsonl": jsonl(_round(SECOND, second=True)),
        "labels/judge.jsonl": jsonl([*_ratings(JUDGE), *_preferences(JUDGE)]),
    }
    for person in PEOPLE:
        files[f"labels/ratings-{person}.jsonl"] = jsonl(_ratings(person))
        files[f"labels/pairs-{person}.jsonl"] = jsonl(_preferences(person))
        files[f"labels/retrieval-{person}.jsonl"] = jsonl(_rag_ratings(person))
    return files


STUDY = """\
# Long answers from one passage, written in two rounds, as in CLAPnq.
[study]
name = "{study}"
preset = "clapnq"
title = "A made-up study of long-form question answering"
licence = "CC0-1.0"

[batch.{study}-questions]         # questions, gold passages as sentences, and rankings
files = ["questions.jsonl"]

[campaign.{study}-first]          # select sentences, then answer or decline
protocol = "grounded-answer"
batch = "{study}-questions"
option = {{ variables = "descriptor,deflected,selected", passages = "relevant" }}
labels = ["labels/first-round.jsonl"]

[campaign.{study}-second]         # another person keeps or changes the answer
protocol = "grounded-answer"
batch = "{study}-questions"
labels = ["labels/second-round.jsonl"]

[campaign.{study}-second.option]
variables = "action,descriptor,deflected,selected"
passages = "relevant"
prerequisite = "{study}-first"

[batch.{study}-references]        # the answers that a second person has confirmed or changed
rule = "references"
from = ["{study}-first", "{study}-second"]
set = {{ people = 2 }}

[batch.{study}-systems]           # add the systems' answers
files = ["answers.jsonl"]
extends = "{study}-references"

[batch.{study}-answers]           # the references as another system
rule = "references-as-system"
batch = "{study}-systems"

[judge.rubric-judge]              # the judges are scripted: they replay a file,
backend = "scripted"              # with the prompt and parser of a library judge file
file = "rubric-with-reference"
family = "made-up"                # the same family, so that they count as one evaluator
answers = "labels/judge.jsonl"

[judge.appropriateness-judge]
backend = "scripted"
file = "appropriateness"
family = "made-up"
answers = "labels/judge.jsonl"

[judge.pair-judge]
backend = "scripted"
file = "pairwise-preference"
family = "made-up"
answers = "labels/judge.jsonl"

[campaign.{study}-ratings]        # how good is each answer?
protocol = "answer-rating"
batch = "{study}-answers"
raters_per_item = 3
labels = ["labels/ratings-mona.jsonl", "labels/ratings-nils.jsonl", "labels/ratings-olga.jsonl"]
judges = ["rubric-judge", "appropriateness-judge"]

[campaign.{study}-ratings.option]
variables = "certainty,appropriate,faithful,natural,abstains,irrelevant"
passages = "relevant"

[campaign.{study}-pairs]          # which of two answers is better?
protocol = "answer-preference"
batch = "{study}-answers"
raters_per_item = 3
labels = ["labels/pairs-mona.jsonl", "labels/pairs-nils.jsonl", "labels/pairs-olga.jsonl"]
judges = ["pair-judge"]

[batch.{study}-retrieval]         # the same systems, from three retrieved passages
files = ["retrieval.jsonl"]

[campaign.{study}-retrieval]      # how good are these answers, and which passages matter?
protocol = "answer-rating"
batch = "{study}-retrieval"
raters_per_item = 3
option = {{ variables = "appropriate,faithful,needed_question,needed_answer" }}
labels = [
  "labels/retrieval-mona.jsonl",
  "labels/retrieval-nils.jsonl",
  "labels/retrieval-olga.jsonl",
]
"""

EXAMPLE = ExampleStudy(
    "clapnq",
    "CLAPnq (Rosenthal and others 2025)",
    build,
    (
        "`questions.jsonl`: your questions with passages in `sentences`, rankings and splits.",
        "`answers.jsonl`: the same query ids with the answers of your systems; `retrieval.jsonl`"
        " with those from retrieved passages, or delete the last two tables.",
        "Remove `labels = …` from the campaigns: `apply` then waits there for people's labels.",
        'Give the judges a model: `backend = "openai"`, `model` and `base_url`, without `answers`.',
        "Run `tandem study apply` after each step; it continues from there.",
    ),
)
