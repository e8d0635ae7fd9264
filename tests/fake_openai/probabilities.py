"""The tokens of an answer with their log probabilities, by rule.

The chosen code has the probability `sureness`, and the others share the rest evenly. In the mode
`raw` all codes together have the probability `mass`. In the mode `renormalised`, like vLLM's under
a constraint, they have 1, and every other token has the log probability -9999.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MODES = ("raw", "renormalised", "none")
MASKED = -9999.0
OTHERS = ("The", "I", "Answer", "Well", "It")
_TOKEN = re.compile(r" ?[A-Za-z]+|[0-9]|\s+|[^\sA-Za-z0-9]")


@dataclass(frozen=True)
class Probabilities:
    mode: str = "raw"
    sureness: float = 0.9
    mass: float = 0.95

    def of(self, schema: Mapping[str, Any], value: Any, top: int) -> dict[str, Any]:
        """The `logprobs` of a choice that says `value`, in the format of chat completions."""
        content: list[dict[str, Any]] = []
        for text, codes in pieces(schema, value):
            content += self._code(text, codes, top) if codes else map(_sure, tokens(text))
        return {"content": content}

    def _code(self, chosen: str, codes: Sequence[str], top: int) -> Iterator[dict[str, Any]]:
        shares = {c: (1 - self.sureness) / max(1, len(codes) - 1) for c in codes}
        shares[chosen] = self.sureness if len(codes) > 1 else 1.0
        spelled = {code: [*tokens(code), '"'] for code in codes}
        begun: list[str] = []
        for token in tokens(chosen):
            n = len(begun)
            alive = [code for code in codes if spelled[code][:n] == begun]
            nexts: defaultdict[str, float] = defaultdict(float)
            for code in alive:
                nexts[spelled[code][n]] += shares[code]
            yield self._token(token, nexts, first=not begun, top=top)
            begun.append(token)

    def _token(
        self, token: str, nexts: Mapping[str, float], first: bool, top: int
    ) -> dict[str, Any]:
        raw = self.mode == "raw" and first
        whole = sum(nexts.values()) / (self.mass if raw else 1.0)
        listed = {each: math.log(share / whole) for each, share in nexts.items() if share}
        for other in OTHERS:
            rest = (1 - self.mass) / len(OTHERS) if raw else 0.0
            listed.setdefault(other, math.log(rest) if rest else MASKED)
        best = sorted(listed.items(), key=lambda pair: -pair[1])[:top]
        own = _entry(token, listed[token])
        return own | {"top_logprobs": [_entry(*each) for each in best]}


def first_token(shares: Mapping[str, float]) -> tuple[str, dict[str, Any]]:
    """The most probable word as the whole answer, with the probability of each word."""
    entries = [_entry(word, math.log(share)) for word, share in shares.items()]
    best = max(entries, key=lambda entry: entry["logprob"])
    return best["token"], {"content": [best | {"top_logprobs": entries}]}


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def pieces(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[str, Sequence[str]]]:
    """The parts of a value's JSON, as `json.dumps` writes it; each code with all alternatives."""
    schema = schema["anyOf"][0] if "anyOf" in schema and value is not None else schema
    if "enum" in schema and isinstance(value, str):
        yield '"', ()
        yield value, schema["enum"]
        yield '"', ()
    elif isinstance(value, dict) and "properties" in schema:
        opening = "{"
        for key, each in value.items():
            yield f"{opening}{json.dumps(key, ensure_ascii=False)}: ", ()
            yield from pieces(schema["properties"][key], each)
            opening = ", "
        yield "}", ()
    else:
        yield json.dumps(value, ensure_ascii=False), ()


def _sure(token: str) -> dict[str, Any]:
    entry = _entry(token, 0.0)
    return entry | {"top_logprobs": [entry]}


def _entry(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
