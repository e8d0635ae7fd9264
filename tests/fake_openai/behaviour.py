"""How the server behaves, as one value: what it answers, how fast, and how it fails."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.fake_openai.answering import Rule
from tests.fake_openai.deciding import Deciding
from tests.fake_openai.faults import FAULTS
from tests.fake_openai.probabilities import MODES, Probabilities


@dataclass
class Behaviour:
    """How the server behaves from now on.

    A call takes from `latency` to `latency + spread` seconds, uniformly; with a `sigma` its time is
    lognormal, with `latency` as its mean. Calls after the first `holds_after` wait until the
    behaviour is changed. `slots` calls are worked on at once and others wait, as with vLLM. The
    server answers 429 above `capacity` calls at once, above `rate` calls a second (of which `burst`
    may come together), and above `tokens_per_minute` of prompts.

    `faults` are shares of calls by the name of the fault; `script` comes before them, with one
    entry per request. `key`, if set, must be sent. `model`, if set, is the only model that exists;
    `weights` stand for what is loaded under its name: other weights, other answers. `context` is
    the largest number of tokens in a prompt. A server that is not `constrained` ignores the schema;
    a request with one of the `refused` keys is answered with 400. With `prefix_cache` the server
    caches prompts in blocks of that many tokens. `reasoning` comes with each answer. Answers take
    the forms in `around` in turn, where ANSWER stands for the answer itself. A request without a
    schema gets the first of the `replies` whose key occurs in its last message: a text, or words
    with the probability of each as the first token. `decides` says how the server answers questions
    whose answers are probabilities.
    """

    latency: float = 0.0
    spread: float = 0.0
    sigma: float = 0.0
    holds_after: int | None = None
    slots: int | None = None
    rule: Rule = field(default_factory=Rule)
    faults: Mapping[str, float] = field(default_factory=dict)
    script: Sequence[str] = ()
    retry_after: str | None = None
    capacity: int | None = None
    rate: float | None = None
    burst: int = 1
    tokens_per_minute: float | None = None
    key: str | None = None
    model: str | None = None
    weights: str = ""
    version: str = "0.32.0"
    system_fingerprint: str | None = None
    context: int | None = None
    constrained: bool = True
    refused: Sequence[str] = ()
    logprobs: str = "raw"
    sureness: float = 0.9
    mass: float = 0.95
    prefix_cache: int | None = None
    cached_in_usage: bool = True
    reasoning: str = ""
    around: Sequence[str] = ()
    replies: Mapping[str, str | Mapping[str, float]] = field(default_factory=dict)
    decides: Deciding = field(default_factory=Deciding)

    def __post_init__(self) -> None:
        for name in (*self.faults, *(n for n in self.script if n != "ok")):
            if name not in FAULTS:
                raise ValueError(f"{name!r} is not a fault; the faults are {', '.join(FAULTS)}")
        if self.logprobs not in MODES:
            raise ValueError(f"logprobs are one of {', '.join(MODES)}, not {self.logprobs!r}")

    def seconds(self, chance: random.Random) -> float:
        if self.sigma and self.latency:
            mean = math.log(self.latency) - self.sigma**2 / 2
            return chance.lognormvariate(mean, self.sigma)
        return self.latency + self.spread * chance.random()

    @property
    def probabilities(self) -> Probabilities:
        return Probabilities(self.logprobs, self.sureness, self.mass)
