"""Two topics with a reference and documents, and an author that writes what a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from annotation.models import User
from annotation.preparation.base import Result
from annotation.registry import STEPS
from datasets.models import Batch
from judging.backends.base import Answer, Request
from judging.backends.scripted import Reply
from judging.models import Judge, JudgeRun
from judging.preparation.status import campaign_for
from tandem.files import rows
from tests.judging.cast import command, judge, run_scripted

Json = dict[str, Any]

FERRY = (
    "The ferry Aurora sank on 3 March 1954 off Tarn. It carried 61 people.\n"
    "A door in the bow had been left open. The inquiry blamed the company."
)
INQUIRY = "The inquiry into the Aurora sat for nine weeks. It found that the bow door stood open."
REPORT = "The Aurora sank in 1954 because its bow door was open. Sixty-one people were aboard."
TOPIC: Json = {
    "id": "t1",
    "text": "ferry",
    "passages": [
        {"id": "d1", "text": FERRY, "title": "The loss of the Aurora", "source": "web"},
        {"id": "d2", "text": INQUIRY},
    ],
    "reports": [{"id": "r1", "text": "It sank. Dr. Lee said so. 🌊", "system": "one"}],
    "references": [{"text": REPORT}],
    "meta": {"desk": "ships"},
}
EMPTY: Json = {
    "id": "t2",
    "text": "links",
    "passages": [{"id": "d3", "text": "Home. About. Contact."}],
    "references": [{"text": "Home | About | Contact"}],
}
PROVENANCE = {"author": "author", "run": 1, "verdict": "accepted", "by": "person-1"}


def result(item: str, answers: Json, passage: str | None = None, **scores: float) -> Result:
    """A result of units given as `kind:key`."""
    by_unit = {tuple(name.split(":", 1)): answer for name, answer in answers.items()}
    probabilities = {(key.replace("__", ":"), "is_key"): p for key, p in scores.items()}
    return Result(item, by_unit, probabilities, PROVENANCE, passage)  # type: ignore[arg-type]


def point(text: str, *quotes: str) -> Json:
    return {"text": text, "evidence": [{"quote": quote, "start": None} for quote in quotes]}


def topic(**changes: Any) -> rows.Query:
    """The first topic as a row, with changes."""
    passages = tuple(rows.Passage(**p) for p in TOPIC["passages"])
    reports = tuple(rows.Report(**r) for r in TOPIC["reports"])
    parts: Json = {"passages": passages, "reports": reports, "meta": TOPIC["meta"]}
    return rows.Query("t1", "ferry", references=(rows.Reference(REPORT),), **parts | changes)


def load(folder: Path, *lines: Json, name: str = "documents") -> Batch:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    command("load_batch", str(path), "--name", name)
    return Batch.objects.get(name=name)


def author(name: str = "author", **options: Any) -> Judge:
    server = {"model": "m", "base_url": "https://models.example.org/v1"}
    return judge(name, "openai", **server, **options)


def researcher(name: str = "rosa") -> User:
    return User.objects.create_user(name, role=User.Role.RESEARCHER)


Answers = Mapping[str, Mapping[str, Any] | Answer]
"""What an author answers of an item, by a word that stands in the request."""


def written_by(answers: Answers) -> Callable[[Request], Reply]:
    """An author that answers by the first word of the table that occurs in its prompt."""

    def line(request: Request) -> Reply:
        shown = request.messages[-1].content
        answer = next(each for word, each in answers.items() if word in shown)
        return answer if isinstance(answer, Answer) else json.dumps(answer)

    return line


def prepare(step: str, batch: str, who: Judge, answers: Answers) -> JudgeRun:
    campaign = campaign_for(Batch.objects.get(name=batch), STEPS[step])
    return run_scripted(campaign, who, written_by(answers))[0]
