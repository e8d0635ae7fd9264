"""Probes: a call that shows whether the server answers, while requests of the run fail.

A probe is a request that has worked in this run, or the shortest one if none has. So a failure
with an answered probe is the fault of the request's text, and a failure with a failed probe that
of the server. The call of a probe is stored with a request that failed, and its tokens are paid.
"""

from __future__ import annotations

from dataclasses import replace

from judging.answers.calls import Call
from judging.backends.base import Facts, Message, Request
from judging.backends.completeness import prompt_length
from judging.engine.persistence import PROBE, PROBE_ANSWERED

SHORT_QUESTION = "Answer in the shortest permitted way."
SHORT_TEXT = "-"


def short_request(request: Request) -> Request:
    """Return a request of the same form as another, without any of its texts."""
    facts = request.facts
    units = tuple(replace(unit, text=SHORT_TEXT) for unit in facts.units)
    texts = (SHORT_TEXT,) * len(facts.texts)
    short = Facts(SHORT_TEXT, texts, units, facts.unit_by_unit)
    return Request((Message("user", SHORT_QUESTION),), request.schema, short)


def shorter(one: Request | None, other: Request) -> Request:
    """Return the request with the shorter prompt, which is the cheaper probe."""
    return other if one is None or prompt_length(other) < prompt_length(one) else one


def as_probe(call: Call, answered: bool) -> Call:
    """Mark the call of a probe, so that nothing takes it for an attempt at an assignment."""
    state = PROBE_ANSWERED if answered else f"{PROBE}{call.state}"[:40]
    return replace(call, state=state, repair=False)
