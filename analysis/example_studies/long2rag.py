"""Long²RAG (Qi and others 2024): documents' key points, and which of them answers make.

Four people verify key points: each a quarter of them, and a tenth together. What most of them call
grounded and key are the points that answers are compared with. Three systems answer in four
document settings. Two people and two judges say which points an answer makes, and whether its own
points are in its context. One person lists the points of each document unaided, and another one and
a judge say which of these were extracted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    labels_with_one_error,
    noisy_label,
    said,
    sample_share,
    seeded,
    text_of,
    topics,
    with_reports,
)

SEED, TOPICS, POINTS = 2024, 16, 6
PEOPLE = ("dora", "emil", "fina", "gert")
OVERLAP = 0.1
"""The share of key points that all four verify; each of them verifies a quarter of the others."""
READERS = ("dora", "emil")
WRITER = "fina"
JUDGES = {"point-judge": 0.06, "second-judge": 0.16}
CATEGORIES = (
    "factual",
    "explanatory",
    "comparative",
    "subjective",
    "methodological",
    "causal",
    "hypothetical",
    "predictive",
)
DOMAINS = (
    "shipping",
    "crafts",
    "transport",
    "science",
    "cities",
    "education",
    "medicine",
    "food",
    "history",
    "engineering",
)
SYSTEMS = {"small-8b": 0.5, "medium-32b": 0.66, "large-70b": 0.82}
SETTINGS = {"full": 1.0, "summary": 0.85, "snippet": 0.7, "none": 0.45}
"""The share of a system's points that remains in each document setting."""
MISSED = 0.1
"""How often a writer lists a point of a document that was not extracted."""
FAILURES = ("incomplete", "general", "missing")
ENTAILED = ("yes", "no", "neutral")


@dataclass(frozen=True, kw_only=True)
class Answer(Report):
    """A system's answer in a setting, with its facts."""

    facts: Sequence[int]


def _documents(topic: Topic) -> dict[str, tuple[int, ...]]:
    """Return a topic's documents with their facts. The last one has no fact of its own."""
    return {
        f"{topic.key}-d1": (0, 1),
        f"{topic.key}-d2": (2, 3),
        f"{topic.key}-d3": (4, 5),
        f"{topic.key}-d4": (1, 4),
        f"{topic.key}-d5": (),
    }


def _document_text(topic: Topic, key: str, facts: tuple[int, ...]) -> str:
    walk = "The road to it follows the river for a while and then climbs through old orchards."
    filler = " ".join([walk] * seeded(SEED, "length", key).randint(1, 12))
    return text_of(topic, facts, f"{_opening(topic)} {filler}")


def _opening(topic: Topic) -> str:
    return f"Few travellers have heard of {topic.name}."


def _points(topic: Topic, other: Topic) -> Iterator[tuple[Line, str, str]]:
    """Yield each extracted key point, and whether it is grounded and key."""
    documents = _documents(topic)
    for n in range(POINTS):
        source = next(key for key, facts in documents.items() if n in facts)
        text = topic.facts[n].sentence
        yield _point(topic, n, text, source, [text]), "yes", "agree"
    first = next(iter(documents))
    opening = _opening(topic)
    yield _point(topic, POINTS, opening, first, [opening]), "yes", "neutral"
    road = f"The road to {topic.name} climbs through old orchards."
    yield _point(topic, POINTS + 1, road, first, None), "yes", "disagree"
    wrong = other.facts[1].sentence
    yield _point(topic, POINTS + 2, wrong, f"{topic.key}-d5", None), "no", ""


def _point(topic: Topic, n: int, text: str, source: str, spans: list[str] | None) -> Line:
    low, high = (0.7, 0.99) if n < POINTS else (0.4, 0.85)
    score = round(seeded(SEED, "score", topic.key, n).uniform(low, high), 3)
    line = {"id": f"{topic.key}-k{n + 1}", "text": text, "passage": source, "score": score}
    return line | ({"spans": spans} if spans else {})


def _pairs() -> list[tuple[Topic, Topic]]:
    all_of = topics(TOPICS, SEED)
    return list(zip(all_of, [*all_of[1:], all_of[0]], strict=True))


def _queries() -> Iterator[Line]:
    for n, (topic, other) in enumerate(_pairs()):
        yield {
            "id": topic.key,
            "text": f"What should a visitor know about {topic.name}, and how did it come about?",
            "passages": [
                {"id": key, "text": _document_text(topic, key, facts)}
                for key, facts in _documents(topic).items()
            ],
            "key_points": [point for point, _, _ in _points(topic, other)],
            "meta": {
                "category": CATEGORIES[n % len(CATEGORIES)],
                "domain": DOMAINS[n % len(DOMAINS)],
            },
        }


def _answers(topic: Topic) -> Iterator[Answer]:
    documents = list(_documents(topic))
    contexts = {"full": documents, "summary": documents, "snippet": documents[:2]}
    for system, quality in SYSTEMS.items():
        for setting, share in SETTINGS.items():
            key = f"{topic.key}-{system}-{setting}"
            draw = seeded(SEED, "answer", key)
            facts = sample_share(draw, range(POINTS), quality * share) or [draw.randrange(POINTS)]
            # Not in the documents: a system occasionally makes such points.
            facts += sample_share(draw, range(POINTS, 9), (1 - quality) / 2)
            yield Answer(
                id=key,
                text=text_of(topic, facts, f"About {topic.name}, this much can be said."),
                system=system,
                setting=setting,
                context=contexts.get(setting),
                key_points=[
                    {"id": f"{key}-a{n + 1}", "text": topic.facts[n].sentence} for n in facts
                ],
                facts=facts,
            )


def split(points: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return who verifies each key point, by the campaign's overlap and fixed shares."""

    def draw(text: str) -> bytes:
        return sha256(text.encode()).digest()

    several = sorted(points, key=lambda point: draw(f"0\0items for several people\0{point}"))
    shared = set(several[: round(OVERLAP * len(points))])
    given = dict.fromkeys(PEOPLE, 0)
    found = {}
    for point in sorted(points, key=lambda point: draw(f"shares 0 {point}")):
        # The person furthest behind their share gets the next one.
        last = len(PEOPLE) if point in shared else 1
        found[point] = tuple(sorted(PEOPLE, key=given.__getitem__)[:last])
        given |= {person: given[person] + 1 for person in found[point]}
    return found


def _verification() -> Iterator[Line]:
    points = [point for each in _pairs() for point in _points(*each)]
    people = split([point["id"] for point, _, _ in points])
    for point, grounded, key in points:
        draw, mine = seeded(SEED, "verify", point["id"]), people[point["id"]]
        # The errors of a person who labels alone could not be outvoted.
        rates = (0.4, 0.0 if key else 0.3) if len(mine) > 1 else (0.0, 0.0)
        is_key = labels_with_one_error(draw, mine, key, ("agree", "neutral", "disagree"), rates[0])
        is_grounded = labels_with_one_error(draw, mine, grounded, YES_OR_NO, rates[1])
        for person in mine:
            at = point["id"], point["id"], "key-point"
            yield label(*at, "grounded", is_grounded[person], person)
            if is_grounded[person] == "yes":
                yield label(*at, "key", is_key[person] or "disagree", person)


def _recall(rater: str, rate: float) -> Iterator[Line]:
    for topic, _ in _pairs():
        for answer in _answers(topic):
            for n in range(POINTS):
                yield from _recall_label(topic, answer, n, rater, rate)


def _recall_label(topic: Topic, answer: Answer, n: int, rater: str, rate: float) -> Iterator[Line]:
    draw = seeded(SEED, "recall", rater, answer.id, n)
    right = "yes" if n in answer.facts else "no"
    code = noisy_label(draw, right, ENTAILED, rate)
    at = answer.id, f"{topic.key}-k{n + 1}", "key-point"
    # A rater who wrongly says yes quotes the nearest text.
    quote = topic.facts[n if right == "yes" else answer.facts[0]].sentence if code == "yes" else ""
    yield label(*at, "entailed", code, rater, quote)
    if code != "yes":
        usual = FAILURES[seeded(SEED, "failure", answer.id, n).choice((0, 1, 2, 2))]
        yield label(*at, "failure", noisy_label(draw, usual, FAILURES, rate), rater)


def _precision(rater: str, rate: float) -> Iterator[Line]:
    for topic, _ in _pairs():
        for answer in _answers(topic):
            facts = {n for key in answer.context or () for n in _documents(topic)[key]}
            for n in answer.facts if answer.context else ():
                seed, right = (
                    (SEED, "precision", rater, answer.id, n),
                    "yes" if n in facts else "no",
                )
                at = answer.id, f"{answer.id}-a{n + 1}", "key-point"
                yield label(*at, "grounded", said(*seed, value=right, rate=rate), rater)


@dataclass(frozen=True)
class Listed:
    """A point that the writer lists of a document. `extracted` is the position of its key point."""

    text: str
    extracted: int | None


def _lists(topic: Topic) -> dict[str, list[Listed]]:
    """Return the writer's list for each document; a point of an earlier list is not repeated."""
    found: dict[str, list[Listed]] = {}
    seen: set[int] = set()
    for key, facts in _documents(topic).items():
        points = [Listed(topic.facts[n].sentence, n) for n in facts if n not in seen]
        seen.update(facts)
        if facts and seeded(SEED, "missed", key).random() < MISSED:
            points.append(Listed("The road to it follows the river for a while.", None))
        found[key] = points
    return found


def _writing() -> Iterator[Line]:
    for topic, other in _pairs():
        points = [point for point, _, _ in _points(topic, other)]
        for key, listed in _lists(topic).items():
            place = f"{topic.key}/{key}"
            written = [
                {"text": each.text, "evidence": [{"quote": each.text[:-1]}]} for each in listed
            ]
            units: Line = {place: {"holds_points": "yes" if listed else "no"}}
            if listed:
                units[place]["points"] = written
            for n, point in enumerate(points):
                if point["passage"] == key:
                    matches = [i for i, each in enumerate(listed, 1) if each.extracted == n]
                    code = "yes" if matches else "no"
                    units[point["id"]] = {"matched": code, "matches": matches}
            yield {"item": place, "rater": WRITER, "units": units}


def _matching(rater: str, rate: float) -> Iterator[Line]:
    """Yield which points of the writer's lists a rater finds among the extracted ones."""
    for topic, other in _pairs():
        extracted = [point["text"] for point, _, _ in _points(topic, other)]
        listed = [each for points in _lists(topic).values() for each in points]
        for n, each in enumerate(listed, start=1):
            right = "no" if each.extracted is None else "yes"
            code = said(SEED, "matching", rater, topic.key, n, value=right, rate=rate)
            at = f"{topic.key}/extraction", f"{topic.key}/written/{n}", "key-point"
            quote = extracted[each.extracted or 0] if code == "yes" else ""
            yield label(*at, "entailed", code, rater, quote)
            if code == "no":
                yield label(*at, "failure", "missing", rater)


def build(study: str) -> dict[str, str]:
    """Return the files of the study."""
    files = {
        "study.toml": STUDY.format(study=study),
        "documents.jsonl": jsonl(_queries()),
        "answers.jsonl": jsonl(with_reports(({"id": t.key}, _answers(t)) for t, _ in _pairs())),
        "labels/verification.jsonl": jsonl(_verification()),
        "labels/writing.jsonl": jsonl(_writing()),
        "labels/matching.jsonl": jsonl(_matching(READERS[0], 0.02)),
    }
    for person in READERS:
        files[f"labels/recall-{person}.jsonl"] = jsonl(_recall(person, 0.08))
        files[f"labels/precision-{person}.jsonl"] = jsonl(_precision(person, 0.05))
    for judge, rate in JUDGES.items():
        lines = [*_recall(judge, rate), *_precision(judge, rate), *_matching(judge, rate)]
        files[f"labels/{judge}.jsonl"] = jsonl(lines)
    return files


STUDY = """\
# Key points of documents, and which of them each answer makes, as in Long²RAG.
[study]
name = "{study}"
preset = "long2rag"
title = "A made-up study of long answers by key points"
licence = "CC0-1.0"

[batch.{study}-documents]         # questions, documents and extracted key points
files = ["documents.jsonl"]

[campaign.{study}-verification]   # is each point in its document, and does it matter?
protocol = "key-point-verification"
batch = "{study}-documents"
raters_per_item = 4               # as in the paper, all four verify a tenth of the points,
overlap = 0.1                     # and each verifies a quarter of the rest
labels = ["labels/verification.jsonl"]
# These labels come from a file. For people with accounts, the same split is:
# share = {{ dora = 0.25, emil = 0.25, fina = 0.25, gert = 0.25 }}

[batch.{study}-points]            # the points that a good answer makes
rule = "verified-key-points"
from = ["{study}-verification"]

[batch.{study}-answers]           # add the answers of three systems in four document settings
files = ["answers.jsonl"]
extends = "{study}-points"

[judge.point-judge]               # the judges are scripted: they replay a file,
backend = "scripted"              # with the prompt and parser of a library judge file
file = "key-point-recall"
family = "made-up-large"          # judges of one family count as one evaluator
answers = "labels/point-judge.jsonl"

[judge.second-judge]
backend = "scripted"
file = "key-point-recall"
family = "made-up-small"
answers = "labels/second-judge.jsonl"

[judge.context-judge]
backend = "scripted"
file = "context-recall"
family = "made-up-large"
answers = "labels/point-judge.jsonl"

[judge.second-context-judge]
backend = "scripted"
file = "context-recall"
family = "made-up-small"
answers = "labels/second-judge.jsonl"

[campaign.{study}-recall]         # which points does each answer make?
protocol = "key-point-recall"
batch = "{study}-answers"
raters_per_item = 2
labels = ["labels/recall-dora.jsonl", "labels/recall-emil.jsonl"]
judges = ["point-judge", "second-judge"]

[campaign.{study}-precision]      # does its context support each point of an answer?
protocol = "key-point-verification"
batch = "{study}-answers"
raters_per_item = 2
option = {{ points = "answers" }}
labels = ["labels/precision-dora.jsonl", "labels/precision-emil.jsonl"]
judges = ["context-judge", "second-context-judge"]

[campaign.{study}-writing]        # which points does a person extract without help?
protocol = "key-point-writing"
batch = "{study}-documents"
labels = ["labels/writing.jsonl"]

[batch.{study}-written]           # the person's points, and the extracted ones as a report
rule = "written-key-points"
from = ["{study}-writing"]

[campaign.{study}-extraction]     # which of the person's points were also extracted?
protocol = "key-point-recall"
batch = "{study}-written"
labels = ["labels/matching.jsonl"]
judges = ["point-judge"]
"""

EXAMPLE = ExampleStudy(
    "long2rag",
    "Long²RAG (Qi and others 2024)",
    build,
    (
        "`documents.jsonl`: your questions with documents and extracted key points.",
        "`answers.jsonl`: the same query ids with the answers of your systems, by `setting`.",
        "Remove `labels = …` from the campaigns: `apply` then waits there for people's labels.",
        'Give a judge a model: `backend = "openai"`, `model` and `base_url`, without `answers`.',
        "Run `tandem study apply` after each step; it continues from there.",
    ),
)
