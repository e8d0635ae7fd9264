"""Decisions by rule: `/v1/systemone` as vLLM answers it, `/v1/decisions` as OpenAI does.

The answer to a question is the code that `says` has for words in it, else yes, else the first
option. That code has the probability `sureness`, and the others share the rest evenly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]
PATHS = {"/v1/systemone": "systemone", "/v1/decisions": "decisions"}
NOISE = 1.8e-10
LETTERS = 4
QUIET = {"enable_thinking": False}


@dataclass(frozen=True)
class Deciding:
    """How the server decides. It takes questions only in the `forms`; other paths give `absent`.

    A question with words in `off` has nearly no probability on its labels; one with words in
    `refuses` is refused, and one with words in `torn` gets equal probabilities. With `less` the
    server answers like some hosted ones: no diagnostics, and one number for a yes or no. Without
    `instructions` it rejects a request with that key, and with `thinking` it answers only if the
    request turns the template's thinking off.
    """

    forms: Sequence[str] = ()
    absent: int = 404
    questions: int = 64
    options: int = 26
    mass: float = 0.95
    sureness: float = 0.9
    says: Mapping[str, str] = field(default_factory=dict)
    off: Sequence[str] = ()
    refuses: Sequence[str] = ()
    torn: Sequence[str] = ()
    less: bool = False
    instructions: bool = True
    thinking: bool = False

    def is_absent(self, path: str) -> int:
        """The error status if the server does not take questions at this path, else 0."""
        return 0 if PATHS[path] in self.forms else self.absent

    def status(self, path: str, body: JSON) -> tuple[int, str] | None:
        """The status of a request that is not answered, and why."""
        asked = questions_of(body)
        if len(asked) > self.questions:
            return 400, f"questions: at most {self.questions} for this model"
        if any(len(options_of(each)) > self.options for each in asked.values()):
            return 400, f"question: at most {self.options} options for this model"
        if "instructions" in body and not self.instructions:
            return 422, "unknown field: instructions"
        if self.thinking and body.get("chat_template_kwargs") != QUIET:
            return 400, "thinking is on"
        return None

    def reply(self, path: str, body: JSON) -> JSON:
        asked, systemone = questions_of(body), PATHS[path] == "systemone"
        tokens = len(json.dumps(body)) // LETTERS
        reply: JSON = {"id": "decision-1", "model": body["model"]}
        usage = {"input_tokens": tokens, "output_tokens": len(asked)}
        if systemone:
            answers: Any = {name: self._systemone(each) for name, each in asked.items()}
            diagnostics = {"label_mass": self.mass, "argmax_is_label": True}
            if not self.less:
                off = {"label_mass": NOISE, "argmax_is_label": False}
                reply["diagnostics"] = {
                    name: off if self._is_off(each) else diagnostics for name, each in asked.items()
                }
        else:
            answers = [{"name": name} | self._decisions(each) for name, each in asked.items()]
        return reply | {"answers": answers, "usage": usage}

    def _is_off(self, question: JSON) -> bool:
        return any(words in question["instructions"] for words in self.off)

    def shares(self, question: JSON) -> dict[str, float]:
        options, text = options_of(question), question["instructions"]
        if any(words in text for words in self.torn):
            return dict.fromkeys(options, 1 / len(options))
        said = next((code for words, code in self.says.items() if words in text), "yes")
        chosen = next((each for each in options if each == said), options[0])
        rest = (1 - self.sureness) / max(1, len(options) - 1)
        return {each: self.sureness if each == chosen else rest for each in options}

    def refused(self, question: JSON) -> bool:
        return any(words in question["instructions"] for words in self.refuses)

    def _systemone(self, question: JSON) -> JSON:
        shares, kind = self.shares(question), question["type"]
        best = max(shares, key=lambda each: shares[each])
        if self.refused(question):
            return {"type": "refusal"}
        if kind == "noul":
            more = {} if self.less else {"probabilities": shares, "confidence": shares[best]}
            return {"type": kind, "noul": shares["yes"], **more}
        if kind == "choice":
            return {"type": kind, "choice": best, "probabilities": shares,
                    "confidence": shares[best]}  # fmt: skip
        levels = list(shares)
        return {
            "type": kind,
            "score": sum(n * shares[level] for n, level in enumerate(levels)),
            "legend": {str(n): level for n, level in enumerate(levels)},
            "probabilities": {str(n): shares[level] for n, level in enumerate(levels)},
            "confidence": shares[best],
        }

    def _decisions(self, question: JSON) -> JSON:
        if self.refused(question):
            return {"type": "refusal"}
        shares, kind = self.shares(question), question["type"]
        if kind == "predicate":
            return {"type": kind, "probability": shares["yes"]}
        best = max(shares, key=lambda each: shares[each])
        if kind == "choice":
            rows = [{"value": each, "probability": p} for each, p in shares.items()]
            return {"type": kind, "choice": best, "probabilities": rows, "confidence": 0.8}
        levels: list[JSON] = [
            {"value": n, "label": each, "probability": p}
            for n, (each, p) in enumerate(shares.items())
        ]
        score = sum(row["value"] * row["probability"] for row in levels)
        return {"type": kind, "score": score, "probabilities": levels[::-1], "confidence": 0.8}

    def first_token(self, asked: str, top: int) -> tuple[str, JSON]:
        """The first word of an answer to a question with listed options, and its alternatives."""
        words = asked.rpartition("\n\n")[2]
        *lines, _ = words.splitlines()
        codes = {label: code for label, code in map(_option, lines) if label}
        question: JSON = {"type": "choice", "instructions": words,
                          "criteria": dict.fromkeys(codes.values())}  # fmt: skip
        mass, shares = NOISE if self._is_off(question) else self.mass, self.shares(question)
        listed = {label: shares[code] * mass for label, code in codes.items()} | {"Well": 1 - mass}
        best = sorted(listed.items(), key=lambda pair: -pair[1])[:top]
        entries = [{"token": word, "logprob": math.log(p)} for word, p in best if p]
        return best[0][0], {"content": [entries[0] | {"top_logprobs": entries}]}


def _option(line: str) -> tuple[str, str]:
    """The label and the code of a listed option: A and first for `A: first (it is better)`."""
    label, _, text = line.partition(": ")
    if label in ("yes", "no") or label.isdigit():
        return label, label
    return (label, text.split(" (")[0]) if len(label) == 1 else ("", "")


def questions_of(body: JSON) -> dict[str, JSON]:
    asked = body["questions"]
    if isinstance(asked, dict):
        return dict(asked)
    return {each["name"]: each for each in asked}


def options_of(question: JSON) -> list[str]:
    """The options of a question of either form, in their order."""
    if question["type"] in ("noul", "predicate"):
        return ["yes", "no"]
    if "choices" in question:
        return [each["value"] for each in question["choices"]]
    if "levels" in question:
        return [each["label"] for each in question["levels"]]
    return list(question["criteria"])
