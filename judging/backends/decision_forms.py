"""Request forms for questions: two kinds of decision endpoint, and the first token.

`SystemOne` is the form of vLLM and of several hosted models, and `Decisions` that of OpenAI. A
server that has neither is asked for a chat completion of one token, whose alternatives are read.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from judging.backends.base import JSON, TransientError
from judging.backends.decision_questions import (
    Decision,
    Question,
    probabilities_of,
    probability,
)

TOP_LOGPROBS = 20
LETTERS = string.ascii_uppercase
_AROUND = " \t\r\n\"'`*().:▁Ġ"


@dataclass(frozen=True)
class Dialect:
    """What a server accepts besides the essential keys, as a probe found out.

    `instructions` tells whether it takes them under a key of their own; otherwise they precede the
    state. `quiet` turns off the chat template's thinking. `top` is the number of alternatives per
    token.
    """

    instructions: bool = True
    quiet: bool = False
    top: int = TOP_LOGPROBS


@dataclass(frozen=True)
class Sheet:
    """The part that all questions about an item share: the instructions and the state."""

    model: str
    instructions: str
    state: str

    @property
    def whole(self) -> str:
        return f"{self.instructions}\n\n{self.state}" if self.instructions else self.state


class Form(Protocol):
    """A form of questions and answers. `dialects` are tried in their order.

    `path` is below the base URL. `questions` and `options` are the initial maximum numbers per
    request.
    """

    name: str
    path: str
    questions: int
    options: int
    dialects: tuple[Dialect, ...]

    def body(self, sheet: Sheet, questions: Sequence[Question], dialect: Dialect) -> JSON: ...

    def read(self, reply: Mapping[str, Any], questions: Sequence[Question]) -> list[Decision]:
        """Return a decision for each question. Raises TransientError if there are no answers."""
        ...


def _names(questions: Sequence[Question]) -> list[str]:
    return [f"q{n}" for n in range(1, len(questions) + 1)]


class SystemOne:
    """`POST /v1/systemone`."""

    name, path = "systemone", "systemone"
    # The limits of vLLM 0.32. A server with lower limits reports them.
    questions, options = 64, 26
    dialects: tuple[Dialect, ...] = tuple(
        Dialect(instructions, quiet) for instructions in (True, False) for quiet in (False, True)
    )
    types: Mapping[str, str] = {"predicate": "noul", "choice": "choice", "score": "score"}

    def body(self, sheet: Sheet, questions: Sequence[Question], dialect: Dialect) -> JSON:
        body: JSON = {
            "model": sheet.model,
            "state": sheet.state if dialect.instructions else sheet.whole,
            "questions": {
                name: {
                    "type": self.types[question.kind],
                    "instructions": question.instructions,
                    "criteria": self._criteria(question),
                }
                for name, question in zip(_names(questions), questions, strict=True)
            },
        }
        if dialect.instructions and sheet.instructions:
            body["instructions"] = sheet.instructions
        return body | _quiet(dialect)

    def _criteria(self, question: Question) -> JSON | list[str] | None:
        if question.kind == "score":
            return [_level(*option) for option in question.options]
        if question.kind == "choice":
            return {code: text or None for code, text in question.options}
        (_, yes), (_, no) = question.options
        sides = {"true": yes, "false": no}
        return {side: text for side, text in sides.items() if text} or None

    def read(self, reply: Mapping[str, Any], questions: Sequence[Question]) -> list[Decision]:
        answers, listed = reply.get("answers"), reply.get("diagnostics")
        if not isinstance(answers, Mapping):
            raise TransientError("no-answers", "the server sent no answers")
        diagnostics = listed if isinstance(listed, Mapping) else {}
        return [
            self._decision(_object(answers.get(name)), _object(diagnostics.get(name)), question)
            for name, question in zip(_names(questions), questions, strict=True)
        ]

    def _decision(self, answer: JSON, diagnostics: JSON, question: Question) -> Decision:
        if answer.get("type") == "refusal":
            return Decision(refused=True)
        listed = _object(answer.get("probabilities"))
        if question.kind == "score":
            listed = _by_level(listed, _object(answer.get("legend")), question)
        found = probabilities_of(listed, question.codes)
        if question.kind == "predicate" and len(found) < len(question.codes):
            found = _two_sides(answer.get("noul")) or found
        choice = answer.get("choice")
        return Decision(
            found,
            probability(diagnostics.get("label_mass")),
            probability(answer.get("confidence")),
            choice if choice in question.codes else None,
        )


def _by_level(listed: JSON, legend: JSON, question: Question) -> JSON:
    """Return probabilities by code, from levels named by number or by word."""
    words = {_level(code, text): code for code, text in question.options}
    numbers = {str(n): code for n, code in enumerate(question.codes)}
    # The legend maps numbers to levels, wherever the server starts counting.
    said = {
        key: words[text] for key, text in legend.items() if isinstance(text, str) and text in words
    }
    places = words | (said or numbers)
    return {places[key]: value for key, value in listed.items() if key in places}


class Decisions:
    """`POST /v1/decisions`."""

    name, path = "decisions", "decisions"
    questions, options = 200, 255
    dialects: tuple[Dialect, ...] = (Dialect(instructions=False),)

    def body(self, sheet: Sheet, questions: Sequence[Question], dialect: Dialect) -> JSON:
        asked = zip(_names(questions), questions, strict=True)
        return {
            "model": sheet.model,
            "input": sheet.whole,
            "questions": [{"name": name} | self._question(question) for name, question in asked],
        }

    def _question(self, question: Question) -> JSON:
        asked: JSON = {"type": question.kind, "instructions": question.instructions}
        if question.kind == "choice":
            return asked | {"choices": [_described("value", *each) for each in question.options]}
        if question.kind == "score":
            return asked | {"levels": [_described("label", *each) for each in question.options]}
        lines = [f"{code}: {text}" for code, text in question.options if text]
        return asked | {"instructions": "\n".join((question.instructions, *lines))}

    def read(self, reply: Mapping[str, Any], questions: Sequence[Question]) -> list[Decision]:
        answers = reply.get("answers")
        if not isinstance(answers, list):
            raise TransientError("no-answers", "the server sent no answers")
        found = [_object(answer) for answer in answers]
        named = {answer["name"]: answer for answer in found if isinstance(answer.get("name"), str)}
        if not named and len(found) == len(questions):
            named = dict(zip(_names(questions), found, strict=True))
        return [
            self._decision(named.get(name, {}), question)
            for name, question in zip(_names(questions), questions, strict=True)
        ]

    def _decision(self, answer: JSON, question: Question) -> Decision:
        if answer.get("type") == "refusal":
            return Decision(refused=True)
        diagnostics = answer.get("diagnostics")
        mass, sure = (
            probability(_object(diagnostics).get("label_mass")),
            probability(answer.get("confidence")),
        )
        if question.kind == "predicate":
            return Decision(_two_sides(answer.get("probability")), mass, sure)
        rows = [_object(row) for row in _list(answer.get("probabilities"))]
        key = "label" if question.kind == "score" else "value"
        listed = {self._code(row, key, question): row.get("probability") for row in rows}
        choice = answer.get("choice")
        own = choice if choice in question.codes else None
        return Decision(probabilities_of(listed, question.codes), mass, sure, own)

    def _code(self, row: JSON, key: str, question: Question) -> str:
        if isinstance(row.get(key), str):
            return str(row[key])
        place = row.get("value")
        if not isinstance(place, int) or isinstance(place, bool):
            return ""
        return question.codes[place] if 0 <= place < len(question.codes) else ""


class FirstToken:
    """`POST /v1/chat/completions` for one token and its alternatives."""

    name, path = "first-token", "chat/completions"
    # An option that is not among the alternatives would have no probability.
    questions, options = 1, TOP_LOGPROBS
    dialects: tuple[Dialect, ...] = (Dialect(), Dialect(quiet=True), Dialect(top=5))

    def body(self, sheet: Sheet, questions: Sequence[Question], dialect: Dialect) -> JSON:
        (question,) = questions
        asked = f"{sheet.state}\n\n{self._words(question)}"
        system = [{"role": "system", "content": sheet.instructions}] if sheet.instructions else []
        return {
            "model": sheet.model,
            "messages": [*system, {"role": "user", "content": asked}],
            "temperature": 0.0,
            "seed": 0,
            "max_tokens": 1,
            "logprobs": True,
            "top_logprobs": dialect.top,
        } | _quiet(dialect)

    def _words(self, question: Question) -> str:
        labels = self._labels(question)
        lines = [
            f"{label}: {text}" if text else label
            for label, text in zip(labels, self._texts(question), strict=True)
        ]
        what = {"predicate": "yes or no", "choice": "the letter of one option"}
        form = what.get(question.kind, "the number of one level")
        return "\n".join((question.instructions, *lines, f"Answer with {form}, and nothing else."))

    def _labels(self, question: Question) -> list[str]:
        codes = question.codes
        if question.kind == "predicate" or (question.kind == "score" and _digits(codes)):
            return list(codes)
        if question.kind == "score":
            return [str(n) for n in range(len(codes))]
        return list(LETTERS[: len(codes)])

    def _texts(self, question: Question) -> list[str]:
        if question.kind == "choice":
            return [f"{code} ({text})" if text else code for code, text in question.options]
        shown = question.kind == "score" and not _digits(question.codes)
        return [_level(code, text) if shown else text for code, text in question.options]

    def read(self, reply: Mapping[str, Any], questions: Sequence[Question]) -> list[Decision]:
        (question,) = questions
        choices = _list(reply.get("choices"))
        if not choices:
            raise TransientError("no-choices", "the server sent no choices")
        choice = _object(choices[0])
        refused = choice.get("finish_reason") == "content_filter"
        if refused or _object(choice.get("message")).get("refusal"):
            return [Decision(refused=True)]
        tokens = _list(_object(choice.get("logprobs")).get("content"))
        return [self._decision(_object(tokens[0]), question) if tokens else Decision()]

    def _decision(self, token: JSON, question: Question) -> Decision:
        labels = self._labels(question)
        folded = question.kind == "predicate"
        shares = dict.fromkeys(labels, 0.0)
        for word, p in _alternatives(token):
            plain = word.strip(_AROUND)
            label = plain.casefold() if folded else plain
            if label in shares:
                shares[label] += p
        mass = sum(shares.values())
        codes = dict(zip(labels, question.codes, strict=True))
        if not mass:
            return Decision(mass=0.0)
        found = {codes[label]: p / mass for label, p in shares.items()}
        unlisted = tuple(code for code, p in found.items() if not p)
        return Decision(found, min(mass, 1.0), max(found.values()) * min(mass, 1.0),
                        bounded=unlisted)  # fmt: skip


FORMS: dict[str, Form] = {form.name: form for form in (SystemOne(), Decisions(), FirstToken())}


def _alternatives(token: JSON) -> Iterable[tuple[str, float]]:
    """Yield the words listed for a token, without repetition, with their probabilities."""
    listed: dict[str, float] = {}
    for entry in (*map(_object, _list(token.get("top_logprobs"))), token):
        word, logprob = entry.get("token"), entry.get("logprob")
        if isinstance(word, str) and isinstance(logprob, int | float):
            listed.setdefault(word, float(logprob))
    return [(word, math.exp(min(p, 0.0))) for word, p in listed.items() if not math.isnan(p)]


def _two_sides(yes: object) -> dict[str, float]:
    p = probability(yes)
    return {} if p is None else {"yes": p, "no": 1 - p}


def _level(code: str, text: str) -> str:
    if not text or text.split(" ")[0].strip(":–-") == code:
        return text or code
    return f"{code}: {text}"


def _described(key: str, code: str, text: str) -> JSON:
    return {key: code} | ({"description": text} if text else {})


def _quiet(dialect: Dialect) -> JSON:
    return {"chat_template_kwargs": {"enable_thinking": False}} if dialect.quiet else {}


def _digits(codes: Sequence[str]) -> bool:
    return all(len(code) == 1 and code.isascii() and code.isdigit() for code in codes)


def _object(value: object) -> JSON:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
