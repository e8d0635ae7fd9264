"""GaRAGe (Sorodoc and others 2025): typed questions, graded grounding, answers compared with both.

People type the questions; those that pass the gate go on. Three people say which passages are
relevant, one writes a cited answer or declines, and two people and a judge say how well the answers
of three systems serve the person who asked, and whether they are supported by all passages and by
the relevant ones. For every third answer of the writer two people check claim by claim whether a
passage supports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from analysis.example_studies.base import ExampleStudy
from analysis.example_studies.world import (
    YES_OR_NO,
    Line,
    Report,
    Topic,
    jsonl,
    label,
    labels_with_one_error,
    noisy_label,
    said,
    sample_share,
    seeded,
    text_of,
    topics,
    with_reports,
)

SEED, TOPICS, PASSAGES = 2026, 24, 6
PEOPLE = ("gesa", "hugo", "inga")
RATERS = ("gesa", "hugo")
WRITER, JUDGE = "inga", "judge"
ERRORS = {"gesa": 0.05, "hugo": 0.08, JUDGE: 0.1}
DROPPED = {5: "valid", 11: "false_premise", 17: "information_seeking"}
"""Questions that do not pass the gate, with the reason."""
RELEVANT = (2, 5, 1, 3, 0, 4, 2, 6)
"""The number of relevant passages of each question in turn; some have none."""
SYSTEMS = {"cautious": (0.95, 0.9), "fluent": (0.8, 0.35), "plain": (0.87, 0.6)}
"""How often a system's sentence is supported, and how often it correctly declines."""
CATEGORIES = ("travel", "history", "food-and-drink", "engineering", "other")
SENSITIVITY = ("static", "slow-changing", "fast-changing")
COMPLEXITY = (
    "simple",
    "simple-with-condition",
    "set",
    "comparison",
    "aggregation",
    "multi-hop",
    "post-processing",
)
POPULARITY = ("head", "torso", "tail")
TYPES = {
    "sensitivity": SENSITIVITY,
    "complexity": COMPLEXITY,
    "popularity": POPULARITY,
    "category": CATEGORIES,
}
USES = ("answer-the-question", "related-information", "outdated", "unknown")
SUPPORT = ("supported", "unsupported", "contradictory")
NOTHING = "The passages do not say enough to answer this."
ASKED_AT = date(2026, 3, 1)


@dataclass(frozen=True)
class Question:
    """A question with its passages, as the facts that each states; none if it is irrelevant."""

    n: int
    topic: Topic
    passages: dict[str, tuple[int, ...]]

    @property
    def key(self) -> str:
        return self.topic.key

    @property
    def relevant(self) -> list[str]:
        return [key for key, facts in self.passages.items() if facts]


def _questions() -> list[Question]:
    found = []
    for n, topic in enumerate(topics(TOPICS, SEED)):
        draw = seeded(SEED, "passages", topic.key)
        all_facts = range(len(topic.facts))
        facts = [
            tuple(sorted(draw.sample(all_facts, 2))) for _ in range(RELEVANT[n % len(RELEVANT)])
        ]
        facts += [()] * (PASSAGES - len(facts))
        draw.shuffle(facts)
        found.append(
            Question(n, topic, {f"{topic.key}-g{i + 1}": each for i, each in enumerate(facts)})
        )
    return found


def _kept_questions() -> list[Question]:
    return [question for question in _questions() if question.n not in DROPPED]


def _text(of: Question) -> str:
    asked = f"What is there to know about {of.topic.name} before a visit?"
    wrong = {
        "valid": f"{of.topic.name} which and to?",
        "false_premise": f"Why was {of.topic.name} moved to the moon?",
        "information_seeking": f"Write me a poem about {of.topic.name}.",
    }
    return wrong.get(DROPPED.get(of.n, ""), asked)


def _queries() -> Iterator[Line]:
    all_of = _questions()
    for of in all_of:
        asked_at = ASKED_AT + timedelta(days=of.n)
        yield {
            "id": of.key,
            "text": _text(of),
            "asked_at": asked_at.isoformat(),
            "passages": [_passage(of, key, asked_at, all_of) for key in of.passages],
        }


def _passage(of: Question, key: str, asked_at: date, all_of: list[Question]) -> Line:
    draw = seeded(SEED, "passage", key)
    days = draw.randint(2, 900)
    other = draw.choice([each for each in all_of if each is not of]).topic
    facts, topic = (of.passages[key], of.topic) if of.passages[key] else ((0, 6), other)
    return {
        "id": key,
        "text": text_of(topic, facts, f"Notes on {topic.name}."),
        "source": draw.choice(("web", "web", "private")),
        "published_at": (asked_at - timedelta(days=days)).isoformat(),
        "age": f"{days} days",
    }


def _typing() -> Iterator[Line]:
    for of in _questions():
        draw = seeded(SEED, "typing", of.key)
        at = of.key, of.key, "query"
        wrong = DROPPED.get(of.n)
        gate = {"valid": "yes", "false_premise": "no", "information_seeking": "yes"}
        if wrong:
            gate[wrong] = "yes" if gate[wrong] == "no" else "no"
        for name, value in gate.items():
            for person in PEOPLE:
                yield label(*at, name, value, person)
        for name, codes in TYPES.items() if not wrong else ():
            right = codes[(of.n + len(name)) % len(codes)]
            for person, value in labels_with_one_error(draw, PEOPLE, right, codes, 0.3).items():
                yield label(*at, name, value, person)


def _grounding() -> Iterator[Line]:
    for of in _kept_questions():
        for key, facts in of.passages.items():
            draw = seeded(SEED, "grounding", key)
            use = USES[0] if len(facts) > 1 and draw.random() < 0.7 else draw.choice(USES[1:])
            is_relevant = "yes" if facts else "no"
            relevant = labels_with_one_error(draw, PEOPLE, is_relevant, YES_OR_NO, 0.2)
            rate = 0.3 if set(relevant.values()) == {"yes"} else 0
            uses = labels_with_one_error(draw, PEOPLE, use, USES, rate)
            at = of.key, f"{of.key}/{key}", "passage"
            for person in PEOPLE:
                yield label(*at, "relevant", relevant[person], person)
                if relevant[person] == "yes":
                    yield label(*at, "use", uses[person], person)


def _people_answers() -> Iterator[Line]:
    """Yield the writer's answers; without a relevant passage they decline."""
    for of in _kept_questions():
        cited = of.relevant
        text = " ".join(
            f"{of.topic.facts[of.passages[key][0]].sentence[:-1]} [{n}]."
            for n, key in enumerate(cited, start=1)
        )
        answer = {"descriptor": "complete", "deflected": "no"} if cited else {
            "descriptor": "no-answer",
            "deflected": "yes",
        }  # fmt: skip
        written = {"written": {"text": text, "citations": cited}} if cited else {}
        yield {"item": of.key, "rater": WRITER, "units": {of.key: {**answer, **written}}}


@dataclass(frozen=True, kw_only=True)
class Answer(Report):
    """A system's answer, with whether the passages support each of its sentences."""

    sentences: Sequence[str]
    support: Sequence[str]


def _answers(of: Question) -> Iterator[Answer]:
    for system, (supported, declining) in SYSTEMS.items():
        key = f"{of.key}-{system}"
        draw, answer = seeded(SEED, "answer", key), partial(_answer, of, key, system)
        if draw.random() < (declining if not of.relevant else 0.06):
            yield answer([NOTHING], [], [], deflected=True)
            continue
        available = sorted({n for facts in of.passages.values() for n in facts})
        chosen = sample_share(draw, available, 0.8) or [0]
        support = [
            "supported"
            if n in available and draw.random() < supported
            else draw.choice(SUPPORT[1:])
            for n in chosen
        ]
        sentences = [of.topic.facts[n].sentence for n in chosen]
        cited = [key for key in of.relevant if set(of.passages[key]) & set(chosen)]
        others = [key for key, facts in of.passages.items() if not facts]
        cited += sample_share(draw, others, 0.15)
        opening = f"Here is an overview of {of.topic.name}."
        yield answer([opening, *sentences], support, cited, deflected=False)


def _answer(
    of: Question,
    key: str,
    system: str,
    sentences: list[str],
    support: list[str],
    citations: list[str],
    *,
    deflected: bool,
) -> Answer:
    """Return an answer whose first sentence says nothing that needs support."""
    return Answer(
        id=key,
        text=" ".join(sentences),
        system=system,
        context=list(of.passages),
        citations=citations,
        sentences=sentences,
        deflected=deflected,
        support=["no-rad", *support],
    )


def _ratings(rater: str, relevant_only: bool) -> Iterator[Line]:
    rate = ERRORS[rater] + (0.04 if relevant_only else 0)
    for of in _kept_questions():
        for answer in _answers(of):
            draw = seeded(SEED, "rating", rater, answer.id, relevant_only)
            at = of.key, answer.id, "report"
            # A person is served badly by a wrong answer, or by none although there is one.
            bad = answer.deflected == bool(of.relevant) or "contradictory" in answer.support
            right = "major" if bad else "minor" if "unsupported" in answer.support else "none"
            found = noisy_label(draw, right, ("none", "minor", "major"), rate)
            yield label(*at, "eligibility", found, rater)
            if not relevant_only:
                abstains = "yes" if answer.deflected else "no"
                found = noisy_label(draw, abstains, YES_OR_NO, rate / 2)
                yield label(*at, "abstains", found, rater)
            for n, right in enumerate(answer.support, start=1):
                found = right if right == "no-rad" else noisy_label(draw, right, SUPPORT, rate)
                yield label(of.key, f"{answer.id}#{n}", "sentence", "support", found, rater)


def _sampled() -> Iterator[Question]:
    """Yield every third question that the writer answers; its claims are checked."""
    yield from [of for of in _kept_questions() if of.relevant][::3]


def _claims() -> Iterator[Line]:
    """Yield the sampled answers of the writer as reports, with their claims as points."""
    texts = {line["item"]: line["units"][line["item"]] for line in _people_answers()}
    for of in _sampled():
        claims = [of.topic.facts[of.passages[key][0]].sentence for key in of.relevant]
        report = Report(
            id=f"{of.key}-people",
            text=texts[of.key]["written"]["text"],
            system="people",
            context=of.relevant,
            key_points=[
                {"id": f"{of.key}-c{n}", "text": text} for n, text in enumerate(claims, start=1)
            ],
        )
        yield from with_reports([({"id": of.key}, [report])])


def _grounding_labels(rater: str) -> Iterator[Line]:
    for of in _sampled():
        for n in range(1, len(of.relevant) + 1):
            code = said(SEED, "claim", rater, of.key, n, value="yes", rate=ERRORS[rater])
            yield label(f"{of.key}-people", f"{of.key}-c{n}", "key-point", "grounded", code, rater)


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    files = {
        "study.toml": STUDY.format(study=study, categories=",".join(CATEGORIES)),
        "questions.jsonl": jsonl(_queries()),
        "answers.jsonl": jsonl(
            with_reports(({"id": q.key}, _answers(q)) for q in _kept_questions())
        ),
        "claims.jsonl": jsonl(_claims()),
        "labels/typing.jsonl": jsonl(_typing()),
        "labels/grounding.jsonl": jsonl(_grounding()),
        "labels/written.jsonl": jsonl(_people_answers()),
        "labels/judge.jsonl": jsonl(_ratings(JUDGE, False)),
    }
    for person in RATERS:
        files[f"labels/claims-{person}.jsonl"] = jsonl(_grounding_labels(person))
        files[f"labels/answers-{person}.jsonl"] = jsonl(_ratings(person, False))
        files[f"labels/relevant-{person}.jsonl"] = jsonl(_ratings(person, True))
    return files


STUDY = """\
# Typed questions, graded passages, and answers rated by both, as in GaRAGe.
[study]
name = "{study}"
preset = "garage"
title = "A made-up study of grounded answers"
licence = "CC0-1.0"

[batch.{study}-questions]         # questions with their date, and passages
files = ["questions.jsonl"]

[campaign.{study}-typing]         # can the question be answered, and of what kind is it?
protocol = "question-typing"
batch = "{study}-questions"
raters_per_item = 3
option = {{ categories = "{categories}" }}
labels = ["labels/typing.jsonl"]

[batch.{study}-typed]             # the answerable questions
rule = "typed-queries"
from = ["{study}-typing"]

[campaign.{study}-grounding]      # which passages are relevant, and what for?
protocol = "grounding-relevance"
batch = "{study}-typed"
raters_per_item = 3
labels = ["labels/grounding.jsonl"]

[batch.{study}-judged]            # passages with people's grades
rule = "judged-passages"
from = ["{study}-grounding"]

[campaign.{study}-writing]        # people answer from the relevant passages, or decline
protocol = "grounded-answer"
batch = "{study}-judged"
option = {{ variables = "descriptor,deflected", passages = "relevant" }}
labels = ["labels/written.jsonl"]

[batch.{study}-references]        # their answers as references
rule = "references"
from = ["{study}-writing"]

[batch.{study}-answers]           # add the systems' answers
files = ["answers.jsonl"]
extends = "{study}-references"

[judge.eligibility-judge]         # the judges are scripted: they replay a file,
backend = "scripted"              # with the prompt and parser of a library judge file
file = "eligibility"
family = "made-up"                # the same family, so that they count as one evaluator
answers = "labels/judge.jsonl"

[judge.factuality-judge]
backend = "scripted"
file = "factuality"
family = "made-up"
answers = "labels/judge.jsonl"

[judge.deflection-judge]
backend = "scripted"
file = "deflection"
family = "made-up"
answers = "labels/judge.jsonl"

[campaign.{study}-factuality]     # rate answers by all passages and the reference
protocol = "answer-rating"
batch = "{study}-answers"
raters_per_item = 2
option = {{ variables = "eligibility,abstains,support" }}
labels = ["labels/answers-gesa.jsonl", "labels/answers-hugo.jsonl"]
judges = ["eligibility-judge", "factuality-judge", "deflection-judge"]

[campaign.{study}-relevant]       # rate answers by the relevant passages only
protocol = "answer-rating"
batch = "{study}-answers"
raters_per_item = 2
option = {{ variables = "eligibility,support", passages = "relevant" }}
labels = ["labels/relevant-gesa.jsonl", "labels/relevant-hugo.jsonl"]
judges = ["eligibility-judge", "factuality-judge"]

[batch.{study}-sample]            # claims from a sample of people's answers
files = ["claims.jsonl"]
extends = "{study}-judged"

[campaign.{study}-claims]         # is each claim supported by at least one passage?
protocol = "key-point-verification"
batch = "{study}-sample"
raters_per_item = 2
option = {{ points = "answers" }}
labels = ["labels/claims-gesa.jsonl", "labels/claims-hugo.jsonl"]
"""

EXAMPLE = ExampleStudy(
    "garage",
    "GaRAGe (Sorodoc and others 2025)",
    build,
    (
        "`questions.jsonl`: your questions with `asked_at`, and passages with source and date.",
        "`answers.jsonl`: the same query ids with the answers of your systems, and `sentences`;"
        " `claims.jsonl` with claims from people's answers, or delete the last two tables.",
        "Remove `labels = …` from the campaigns: `apply` then waits there for people's labels.",
        'Give the judges a model: `backend = "openai"`, `model` and `base_url`, without `answers`.',
        "Run `tandem study apply` after each step; it continues from there.",
    ),
)
