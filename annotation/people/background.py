"""A campaign's own background questions, and people's answers to them.

Each person is asked once, before the first item. A question that is added later is asked of
everybody who has not seen it, before their next item.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal, get_args

from django.db import transaction
from django.utils import timezone

from annotation.models import Background, Campaign, Rater
from audit.recording import record
from tandem.files import toml
from tandem.messages import Message
from tandem.options import FieldError

Kind = Literal["choice", "several", "text", "number"]
KINDS: tuple[str, ...] = get_args(Kind)
MOST_QUESTIONS, MOST_CHOICES = 30, 60
LONGEST_QUESTION, LONGEST_TEXT, LONGEST_SOURCE = 500, 200, 30_000
COLUMNS = ("rater", "name", "question", "kind", "value", "answered_at")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
MISSING = Message("has to be answered; answer it")
NO_CHOICE = Message("is not one of the choices; choose again")
TOO_LONG = Message("has more than %(most)s characters; shorten it", most=LONGEST_TEXT)
Answer = str | list[str] | None


class BackgroundError(FieldError):
    """Questions that cannot be asked, or an answer that cannot be stored.

    `field` is the name of the question, if there is one.
    """


@dataclass(frozen=True)
class Question:
    """One background question. `choices` are those of the kinds choice and several."""

    name: str
    question: str
    kind: Kind
    choices: tuple[str, ...] = ()
    required: bool = False


def questions_of(campaign: Campaign) -> list[Question]:
    return [Question(**{**each, "choices": tuple(each["choices"])}) for each in campaign.background]


def stored_questions(questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Return questions as `Campaign.background` holds them."""
    return [{**asdict(each), "choices": list(each.choices)} for each in questions]


def read_toml(text: str) -> tuple[Question, ...]:
    """Read questions from TOML, one table for each. Raises BackgroundError."""
    if len(text) > LONGEST_SOURCE:
        raise BackgroundError(f"is longer than {LONGEST_SOURCE} characters; cut it")
    try:
        tables = toml.read_toml(text)
    except toml.TomlError as error:
        at = f"line {error.line}: " if error.line else ""
        raise BackgroundError(f"{at}{error}; correct it") from error
    rows = []
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise BackgroundError(f"{name!r} is not a table; write [{name}] above its keys", name)
        rows.append({"name": name, **table})
    return read_rows(rows)


def read_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Read questions from plain values. Raises BackgroundError."""
    if len(rows) > MOST_QUESTIONS:
        raise BackgroundError(f"there are more than {MOST_QUESTIONS} questions; leave some out")
    found = tuple(_question(row) for row in rows)
    names = Counter(each.name for each in found)
    for name, times in names.items():
        if times > 1:
            raise BackgroundError(f"question {name!r} occurs twice; rename one", name)
    return found


def _question(row: Mapping[str, Any]) -> Question:
    name = str(row.get("name", ""))
    if not _NAME.fullmatch(name):
        raise BackgroundError(
            f"{name!r} is not a valid name; use small letters, digits and underscores",
            name,
        )
    if strange := [key for key in row if key not in Question.__dataclass_fields__]:
        keys = ", ".join(Question.__dataclass_fields__)
        raise BackgroundError(
            f"{name}: {strange[0]!r} is not a key of a question; use {keys}", name
        )
    text, kind, choices = row.get("question"), row.get("kind", "text"), row.get("choices", ())
    if not isinstance(text, str) or not 1 <= len(text.strip()) <= LONGEST_QUESTION:
        raise BackgroundError(
            f"{name}: question is not a text of up to {LONGEST_QUESTION} characters; write one",
            name,
        )
    if kind not in KINDS:
        raise BackgroundError(f"{name}: kind is {kind!r}; give one of {', '.join(KINDS)}", name)
    if not isinstance(row.get("required", False), bool):
        raise BackgroundError(f"{name}: required is neither true nor false; correct it", name)
    _check_choices(name, kind, choices)
    if _CONTROL.search(" ".join((text, *choices))):
        raise BackgroundError(f"{name}: contains a line break or a control character", name)
    required = bool(row.get("required", False))
    return Question(name, text.strip(), kind, tuple(map(str.strip, choices)), required)


def _check_choices(name: str, kind: str, choices: Any) -> None:
    has_choices = kind in ("choice", "several")
    if not isinstance(choices, (list, tuple)) or not all(isinstance(c, str) for c in choices):
        raise BackgroundError(f'{name}: choices is not a list; write choices = ["…", "…"]', name)
    if not has_choices and choices:
        raise BackgroundError(f"{name}: a question of kind {kind} has no choices", name)
    if has_choices and not 2 <= len({c.strip() for c in choices}) == len(choices) <= MOST_CHOICES:
        raise BackgroundError(
            f"{name}: choices are not 2 to {MOST_CHOICES} different ones; correct them", name
        )
    if any(not 1 <= len(c.strip()) <= LONGEST_TEXT for c in choices):
        raise BackgroundError(
            f"{name}: a choice is empty or has more than {LONGEST_TEXT} characters", name
        )


def as_toml(questions: Sequence[Question]) -> str:
    """Return questions as the TOML that `read_toml` reads."""
    return "\n\n".join("\n".join(_table(each)) for each in questions)


def _table(question: Question) -> Iterator[str]:
    yield f"[{question.name}]"
    yield f"question = {_quoted(question.question)}"
    yield f"kind = {_quoted(question.kind)}"
    if question.choices:
        yield f"choices = [{', '.join(map(_quoted, question.choices))}]"
    if question.required:
        yield "required = true"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def owed_questions(campaign: Campaign, rater: Rater) -> list[Question]:
    """Return the questions that a person has not been asked yet."""
    row = Background.objects.filter(campaign=campaign, rater=rater).first()
    asked = row.answers if row else {}
    return [each for each in questions_of(campaign) if each.name not in asked]


def answer(campaign: Campaign, rater: Rater, given: Mapping[str, Any]) -> None:
    """Store a person's answers to the questions that they owe. Raises BackgroundError.

    Answers from before stay as they are.
    """
    owed = owed_questions(campaign, rater)
    names = [each.name for each in owed]
    for name in given:
        if name not in names:
            raise BackgroundError(Message("is not asked of you here; leave it out"), name)
    answers = {each.name: checked_answer(each, given.get(each.name)) for each in owed}
    if not answers:
        return
    with transaction.atomic():
        row, _ = Background.objects.get_or_create(
            campaign=campaign, rater=rater, defaults={"answers": {}}
        )
        row.answers, row.answered_at = row.answers | answers, timezone.now()
        row.save(update_fields=["answers", "answered_at"])
        record("background.given", campaign.pk, rater, questions=len(answers))


def checked_answer(question: Question, given: Any) -> Answer:
    """Return an answer as it is stored; None if the question was left out.

    Raises BackgroundError.
    """
    if question.kind == "several":
        chosen = given if isinstance(given, (list, tuple)) else [given] if given else []
        if not all(each in question.choices for each in chosen):
            raise BackgroundError(NO_CHOICE, question.name)
        found: Answer = [each for each in question.choices if each in chosen] or None
    else:
        text = str(given).strip() if isinstance(given, (str, int, float)) else ""
        found = _checked_text(question, text) if text else None
    if found is None and question.required:
        raise BackgroundError(MISSING, question.name)
    return found


def _checked_text(question: Question, text: str) -> str:
    if question.kind == "choice" and text not in question.choices:
        raise BackgroundError(NO_CHOICE, question.name)
    if question.kind == "number":
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise BackgroundError(
                Message("is not a number; write one such as 3 or 2.5"), question.name
            )
        return f"{number:g}" if abs(number) < 1e6 else text
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise BackgroundError(TOO_LONG, question.name)
    return text


def background_lines(campaign: Campaign, revoked: set[int]) -> Iterator[dict[str, Any]]:
    """Yield one line for each answer and person; several choices are several lines.

    People who revoked their consent are left out. A question that was left out has no value.
    """
    known = {each.name: each for each in questions_of(campaign)}
    for row in _rows(campaign, revoked):
        # PostgreSQL keeps no order of keys.
        for name in (*known, *sorted(row.answers.keys() - known.keys())):
            if name not in row.answers:
                continue
            given, asked = row.answers[name], known.get(name)
            for value in given if isinstance(given, list) else [given]:
                yield {
                    "rater": row.rater.name,
                    "name": name,
                    "question": asked.question if asked else None,
                    "kind": asked.kind if asked else None,
                    "value": value,
                    "answered_at": row.answered_at.isoformat(),
                }


def _rows(campaign: Campaign, revoked: set[int]) -> Iterator[Background]:
    rows = campaign.backgrounds.select_related("rater").exclude(rater__in=revoked)
    yield from rows.order_by("rater__name")


def background_counts(campaign: Campaign, revoked: set[int]) -> list[dict[str, Any]]:
    """Return, for each question, how many people gave each answer.

    `counts` are in the order of the choices. A number has `median`, `low` and `high` instead; the
    texts that people wrote are only counted. `left_out` is the number of people who did not answer.
    """
    answers = [row.answers for row in _rows(campaign, revoked)]
    return [_counts(each, answers) for each in questions_of(campaign)]


def _counts(question: Question, answers: Sequence[Mapping[str, Answer]]) -> dict[str, Any]:
    given = [row[question.name] for row in answers if question.name in row]
    said = [each for each in given if each is not None]
    found: dict[str, Any] = {
        "name": question.name,
        "question": question.question,
        "kind": question.kind,
        "people": len(said),
        "left_out": len(given) - len(said),
    }
    if question.kind in ("choice", "several"):
        tally = Counter(c for each in said for c in (each if isinstance(each, list) else [each]))
        # People who gave a choice that has been removed are still counted.
        names = [*question.choices, *sorted(set(tally) - set(question.choices))]
        return found | {"counts": {name: tally[name] for name in names}}
    if question.kind == "number" and said:
        numbers = [float(each) for each in said if isinstance(each, str)]
        return found | {"median": median(numbers), "low": min(numbers), "high": max(numbers)}
    return found
