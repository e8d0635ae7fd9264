"""A certificate: what a plan has proven, as an in-toto statement that anybody can recompute.

It contains the whole commitment and, for each drawn query, how many accepted cells were wrong. All
other numbers and the statement follow from these, so a reader without the database finds what does
not. That the labels are real no document can show of itself: a certificate is genuine if its
SHA-256, or a signature (`envelope`), comes from somebody whom the reader trusts.

Source: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isclose, log
from typing import Any

import numpy as np

from ..statistics import Ints
from ..types import JSON
from .canonical import canonical, digest_of
from .cell_state import state_after
from .plan import plan_of
from .state import State, WrongOrderError
from .systems import Systems, split
from .truth import IN_WORDS

TYPE, PREDICATE = "https://in-toto.io/Statement/v1", "urn:tandem:certificate:1"
TOLERANCE = 1e-6
"""Logarithms differ in their last digits between machines."""
NOT_ESTABLISHED = {
    "rankings of systems": "Two equal systems may differ by {apart} if the judge's errors favour "
    "one of them.",
    "other systems": "The cells are those of the systems in these queries.",
    "other texts": "Nothing follows for another collection, prompt, model or variable.",
    "evidence spans": "People's votes were compared with verdicts, and not with quoted passages.",
    "future queries": "The statement is about these queries alone.",
}
NOT_CLAIMED = "It says nothing about {} or {}.".format(
    ", ".join(list(NOT_ESTABLISHED)[:-1]), list(NOT_ESTABLISHED)[-1]
)
NO_FLOOR = "nobody measured how often people are wrong"


class CertificateError(ValueError):
    """There is nothing to certify, or a document is not a certificate. The message says why."""


@dataclass(frozen=True)
class Floor:
    """The risk that a faultless judge would have since people err, or the reason why not known."""

    value: float | None = None
    reason: str | None = NO_FLOOR


Draws = Sequence[tuple[int, Ints]]
"""The labelled queries by number in the order of the draw, with their wrong cells by cut (J,)."""
BySystem = Sequence[Ints]
"""Their wrong cells by system and cut, (S, J); empty for a plan without bounds by system."""


def certificate(
    plan: JSON,
    labelled: Draws,
    looks: Sequence[JSON],
    issued_at: str,
    floor: Floor | None = None,
    by_system: BySystem = (),
) -> JSON:
    """Return the certificate of a plan, given by its commitment, after these labels.

    `looks` are {"at": ISO time, "labelled": number of queries}. Raises CertificateError if no cut
    is certified, and WrongOrderError for labels out of order.
    """
    floor = floor or Floor()
    state = _state(plan, labelled, looks)
    bounds = _bounds(plan, state, labelled, by_system)
    return {
        "_type": TYPE,
        "subject": [
            {"name": name, "digest": {"sha256": plan[name]}} for name in ("batch", "verdicts")
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "statement": statement(plan, state.share),
            "not_established": list(_not_established(plan, bounds)),
            "certified": state.certified,
            "share": state.share,
            "queries": {
                "population": len(plan["population"]["queries"]),
                "labelled": len({query for query, _ in labelled}),
                "left_out": plan["population"]["excluded"],
            },
            "cuts": [_cut(plan, state, cut) for cut in range(state.plan.cuts)],
            "systems": {
                name: {"share": shares[state.certified - 1], "bound": bounds.get(name)}
                for name, shares in plan["systems"].items()
            },
            "truth": {
                "kind": plan["truth"],
                "people": plan["people"],
                "meaning": IN_WORDS[plan["truth"]],
                "floor": {"value": floor.value, "reason": floor.reason},
            },
            "plan": plan,
            "plan_sha256": digest_of(plan),
            "draws": [
                _draw(plan, query, wrong, by_system[n : n + 1])
                for n, (query, wrong) in enumerate(labelled)
            ],
            "looks": list(looks),
            "issued_at": issued_at,
        },
    }


def _draw(plan: JSON, query: int, wrong: Ints, by_system: BySystem) -> JSON:
    found = {
        "query": plan["population"]["queries"][query],
        "accepted": plan["accepted"][query],
        "wrong": [int(each) for each in wrong],
    }
    for own in by_system:
        names = sorted(plan["by_system"]["accepted"])
        found["by_system"] = dict(zip(names, own.tolist(), strict=True))
    return found


def statement(plan: JSON, share: float) -> str:
    """Return what a certificate says, in one sentence."""
    cells, queries = sum(plan["population"]["cells"]), len(plan["population"]["queries"])
    return (
        f"{plan['judge']['name']} may decide {percent(share)} of the {cells} cells on "
        f"{plan['variable']} in these {queries} queries: at most {percent(plan['risk'])} of them "
        f"are wrong, with confidence {percent(1 - plan['delta'])}."
    )


def percent(share: float) -> str:
    """Return a share as a percentage, rounded to a tenth."""
    return f"{round(100 * share, 1):g} %"


def _not_established(plan: JSON, bounds: Mapping[str, float | None]) -> Iterator[str]:
    apart = 2 * plan["risk"]
    if bounds:
        apart = min(1.0, sum(sorted(bound or 0.0 for bound in bounds.values())[-2:]))
    for what, why in NOT_ESTABLISHED.items():
        yield f"{what.capitalize()}. {why.format(apart=percent(apart))}"
    for reason, number in plan["population"]["excluded"].items():
        yield f"Queries that were left out: {number}, because {reason}."


def _state(plan: JSON, labelled: Draws, looks: Sequence[JSON]) -> State:
    if plan["kind"] != "certify" or plan["form"] != ("cells" if "k" in plan else "whole"):
        raise CertificateError("only a plan that certifies a judge has one")
    _check_levels(plan)
    for query, wrong in labelled:
        # Python's integers, so that a huge number cannot overflow.
        errors, most = [int(each) for each in wrong], plan["accepted"][query]
        most = [min(each, plan.get("k", each)) for each in most]
        if len(errors) != len(most) or sorted(errors) != errors or errors[:1] < [0]:
            raise CertificateError(f"the wrong cells of query {query} are not nested")
        if any(e > m for e, m in zip(errors, most, strict=True)):
            raise CertificateError(f"query {query} has more wrong cells than accepted ones")
    times = [datetime.fromisoformat(each["at"]) for each in looks]
    counts = [each["labelled"] for each in looks]
    if times != sorted(times) or counts != sorted(counts) or counts[-1:] != [len(labelled)]:
        raise CertificateError("the looks do not lead to these labels")
    state = state_after(plan_of(plan), labelled)
    if not state.certified:
        raise CertificateError("these labels certify nothing")
    return state


def _check_levels(plan: JSON) -> None:
    """Raise CertificateError unless the plan's level is split as it says."""
    systems, part, bounds = plan.get("by_system"), 0.0, 1
    if systems:
        part, bounds = systems["part"], len(systems["accepted"]) * len(plan["cuts"])
    of_statement, of_bound = split(plan["delta"], plan["number"], part, bounds)
    if not (0 <= part < 1 and isclose(plan["level"], of_statement, rel_tol=TOLERANCE)):
        raise CertificateError(f"{plan['level']} is not the level of plan {plan['number']}")
    if systems and not isclose(systems["level"], of_bound, rel_tol=TOLERANCE):
        raise CertificateError(f"{systems['level']} is not the level of each bound by system")


def _bounds(
    plan: JSON, state: State, labelled: Draws, by_system: BySystem
) -> dict[str, float | None]:
    """Return the bounds by system in the loosest certified cut, none for a plan without them."""
    if (systems := Systems.of(plan)) is None:
        return {}
    if set(systems.accepted) != set(plan["systems"]):
        raise CertificateError("the systems with bounds are not those of the plan")
    rest, asked = state.plan.accepted - sum(systems.accepted.values()), state.plan.asked
    for (query, wrong), own in zip(labelled, by_system, strict=True):
        most = asked(np.stack([each[query] for each in systems.accepted.values()]))
        others = np.asarray(wrong) - own.sum(axis=0)
        if own.shape != most.shape or (own < 0).any() or (own > most).any():
            raise CertificateError(f"a system has more wrong cells in query {query} than cells")
        if (
            (np.diff(own, axis=1) < 0).any()
            or (others < 0).any()
            or (others > asked(rest[query])).any()
        ):
            raise CertificateError(
                f"the wrong cells of the systems do not add up to those of query {query}"
            )
    return systems.bounds(state, by_system, state.certified - 1)


def _cut(plan: JSON, state: State, cut: int) -> JSON:
    evidence = state.evidence(cut)
    return {
        "share": float(state.plan.totals[cut] / state.plan.cells.sum()),
        "threshold": plan["cuts"][cut]["threshold"],
        "accepted": int(state.plan.totals[cut]),
        "draws": len(evidence),
        "certified_after": state.decided_after[cut] if cut < state.certified else None,
        "log_evidence": float(evidence.max()) if len(evidence) else None,
        "log_needed": log(1 / plan["level"]),
        "bound": state.bound(cut) if len(evidence) else None,
    }


@dataclass
class Verification:
    """What is wrong with a certificate; whether it is `genuine`, by a digest from elsewhere."""

    statement: str = ""
    digest: str = ""
    wrong: list[str] = field(default_factory=list)
    genuine: bool = False

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        return "genuine" if self.genuine else "consistent, not proven genuine"


def verify_bytes(content: bytes, digest: str | None = None) -> Verification:
    """Check the bytes of a certificate's file, which are its canonical JSON."""
    try:
        document = json.loads(content)
        is_canonical = canonical(document) == content
    except (ValueError, RecursionError) as error:
        return Verification(wrong=[f"it is not JSON: {error}"])
    if not is_canonical:
        return Verification(wrong=["its bytes are not canonical JSON: it was written again"])
    return verify(document, digest)


def verify(document: Any, digest: str | None = None) -> Verification:
    """Compute a certificate again from its commitment and its wrong cells, and say what differs.

    `digest` is the SHA-256 of its canonical bytes from elsewhere, in hexadecimal digits. Without
    one a document that agrees with itself is only consistent.
    """
    found = Verification()
    try:
        found.digest = digest_of(document)
        found.wrong += _differences(document, recomputed(document), "")
        found.statement = str(document["predicate"]["statement"])
    except (CertificateError, WrongOrderError) as error:
        found.wrong.append(str(error))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        found.wrong.append(f"it is not a certificate ({type(error).__name__}: {error})")
    if digest is not None and found.digest != digest.strip().lower():
        found.wrong.append("its SHA-256 is not the one that was given")
    found.genuine = digest is not None and not found.wrong
    return found


def recomputed(document: JSON) -> JSON:
    """Return the certificate that follows from a document's commitment, labels and looks."""
    stated = document["predicate"]
    plan, floor = stated["plan"], stated["truth"]["floor"]
    number = {key: n for n, key in enumerate(plan["population"]["queries"])}
    if not len(number) == len(plan["population"]["queries"]) == len(plan["accepted"]):
        raise CertificateError("a query of the plan is there twice, or has no cells")
    labelled, by_system = [], []
    for each in stated["draws"]:
        if each["query"] not in number:
            raise CertificateError(f"query {each['query']!r} is not part of the plan")
        labelled.append((number[each["query"]], np.array(each["wrong"], dtype=np.int64)))
        if own := plan.get("by_system"):
            names = sorted(own["accepted"])
            by_system.append(np.array([each["by_system"][name] for name in names], dtype=np.int64))
    datetime.fromisoformat(stated["issued_at"])
    return certificate(
        plan,
        labelled,
        stated["looks"],
        stated["issued_at"],
        Floor(floor["value"], floor["reason"]),
        by_system,
    )


def _differences(stated: Any, found: Any, path: str) -> Iterator[str]:
    """Yield where two documents differ, by path; numbers are compared to `TOLERANCE`."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in sorted({*map(str, stated), *found}):
            if key not in stated or key not in found:
                yield f"{path}{key} is {'missing' if key in found else 'not part of it'}"
            else:
                yield from _differences(stated[key], found[key], f"{path}{key}.")
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for n, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _differences(one, other, f"{path}{n}.")
    elif isinstance(stated, float) and isinstance(found, float):
        if not isclose(stated, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{path[:-1]} is {stated:g}, and {found:g} follows from the labels"
    elif type(stated) is not type(found) or stated != found:
        yield f"{path[:-1]} is {stated!r}, and {found!r} follows from the plan and its labels"


def certificate_page(document: JSON) -> Mapping[str, Any]:
    """Return the context of the page to print, from the document alone."""
    stated = document["predicate"]
    plan = stated["plan"]
    return {
        "certificate": stated,
        "plan": plan,
        "digest": digest_of(document),
        "subject": document["subject"],
        "share": percent(stated["share"]),
        "confidence": percent(1 - plan["delta"]),
        "level": percent(1 - plan["level"]),
        "issued_at": datetime.fromisoformat(stated["issued_at"]),
        "floor": None if (value := stated["truth"]["floor"]["value"]) is None else percent(value),
        "cuts": [
            cut
            | {"share": percent(cut["share"])}
            | {"bound": None if cut["bound"] is None else percent(cut["bound"])}
            for cut in stated["cuts"]
        ],
        "systems": [
            (name, percent(of["share"]), None if of["bound"] is None else percent(of["bound"]))
            for name, of in stated["systems"].items()
        ],
        "part": percent(by_system["part"]) if (by_system := plan.get("by_system")) else None,
    }
