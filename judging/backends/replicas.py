"""Replicas: one judge's backend at several addresses, all of which have to answer as one.

Before a run all addresses are probed. Those that respond must report the same model and the same
version, and answer a few questions alike. One that does not respond is left out, and compared with
the others once it is back (`judging.engine.routing`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self

from judging.backends.addresses import without_credentials
from judging.backends.base import (
    JSON,
    Answer,
    Backend,
    BackendError,
    Findings,
    Request,
    TransientError,
    UnassignedReply,
    written_key,
)
from judging.backends.capabilities import CHANGED_ANSWERS, count_differences

ADDRESS = "address"
"""The name of the address in the fingerprint of one that differs from the others."""
ADDRESSES, REPORTS, LEFT_OUT = "addresses", "reports", "left_out"
COMPARED = (
    "model_returned", "system_fingerprint", "structured_output", "logprobs", "form", "dialect",
)  # fmt: skip
"""The facts of a probe that must be equal, in addition to the fingerprint."""
OF_TIME = frozenset({"created"})
"""What some servers give as the time of their start, or of the request."""
PROBE_SECONDS = 120.0


@dataclass(frozen=True)
class Look:
    """What an address has shown: the findings of a probe, and its fingerprint."""

    address: str
    findings: Findings
    prints: Mapping[str, Any]

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.findings.facts

    def difference(self, other: Look) -> str:
        """Say how another address differs from this one, empty if it does not."""
        names = dict.fromkeys((*self.prints, *other.prints))
        pairs = {name: (self.prints.get(name), other.prints.get(name)) for name in names}
        pairs |= {name: (self.facts.get(name), other.facts.get(name)) for name in COMPARED}
        for name, (ours, theirs) in pairs.items():
            if ours != theirs:
                return _refusal(
                    f"the {_label(name)} of {self.address} is {_word(ours)}, and that of "
                    f"{other.address} {_word(theirs)}"
                )
        answers = self.facts.get("answers")
        if answers and count_differences(answers, other.facts.get("answers")) >= CHANGED_ANSWERS:
            return _refusal(
                f"{self.address} and {other.address} answer equal questions differently"
            )
        return ""


class Replicas:
    """The backend of a judge with several addresses, of which the first names it.

    `left_out` has the addresses that are not asked, with the reasons. `known` is what one of the
    others has shown, with which all have to agree; None if none has been probed.
    """

    def __init__(self, backends: Sequence[Backend]) -> None:
        self.backends, self.first = tuple(backends), backends[0]
        self.endpoint = self.first.endpoint
        self.left_out: dict[str, str] = {}
        self.known: Look | None = None
        self._granted: int | None = None
        self._stack = AsyncExitStack()

    @property
    def forkable(self) -> bool:
        return all(getattr(each, "forkable", False) for each in self.backends)

    @property
    def written_key(self) -> object:
        return written_key(self.first)

    @property
    def granted(self) -> int | None:
        """The calls at once that a probe may send to all addresses together."""
        return self._granted

    @granted.setter
    def granted(self, calls: int | None) -> None:
        self._granted = calls
        for backend in self.backends:
            each = calls and max(1, calls // len(self.backends))
            backend.granted = each  # type: ignore[attr-defined]  # of those that ask a server

    async def __aenter__(self) -> Self:
        for backend in self.backends:
            await self._stack.enter_async_context(backend)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def identity(self, request: Request) -> JSON:
        return self.first.identity(request)

    async def ask(self, request: Request) -> Answer:
        """Ask at the first address. The engine asks each by itself."""
        return await self.first.ask(request)

    @property
    def unassigned(self) -> list[UnassignedReply]:
        """The replies of all addresses, which share a list (`Addressed.at`)."""
        noted: list[UnassignedReply] = getattr(self.first, "unassigned", [])
        return noted

    async def probe(self) -> Findings:
        """Probe all addresses. The refusal names two that differ, or one that cannot answer.

        Raises BackendError if none can be probed.
        """
        found = await asyncio.gather(*map(_look, self.backends))
        looks = [each for each in found if isinstance(each, Look)]
        errors = {
            address_of(backend): each
            for backend, each in zip(self.backends, found, strict=True)
            if isinstance(each, BackendError)
        }
        if not looks:
            # One that is down may be back for the run, as with a single address.
            raise min(errors.values(), key=lambda error: not isinstance(error, TransientError))
        usable = [each for each in looks if not _is_unusable(each, looks)]
        unusable = {
            each.address: each.findings.warnings[-1] for each in looks if each not in usable
        }
        self.left_out = {name: error.message for name, error in errors.items()} | unusable
        first = usable[0]
        shown: JSON = {each.address: {REPORTS: dict(each.prints)} for each in usable}
        shown |= {name: {LEFT_OUT: why} for name, why in self.left_out.items()}
        facts = {**first.facts, ADDRESSES: shown}
        self.recall(facts)
        refusals = [f"{e.address}: {e.findings.refusal}" for e in usable if e.findings.refusal]
        refusals += filter(None, (first.difference(other) for other in usable[1:]))
        silent = [f"{at} is left out until it responds: {why}" for at, why in self.left_out.items()]
        warnings = dict.fromkeys([*(w for e in usable for w in e.findings.warnings), *silent])
        return Findings(facts, tuple(warnings), next(iter(refusals), ""))

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Apply the facts of an earlier probe. What it left out is compared before it is asked."""
        shown = facts.get(ADDRESSES, {})
        reports = {name: each[REPORTS] for name, each in shown.items() if REPORTS in each}
        self.left_out |= {n: each[LEFT_OUT] for n, each in shown.items() if LEFT_OUT in each}
        for name, prints in reports.items():
            self.known = Look(name, Findings(facts), prints)
            break
        for backend in self.backends:
            if (recall := getattr(backend, "recall", None)) is not None:
                recall(facts)

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        """Return what the addresses report that are not left out.

        At the end of a run, with `answers`, it is the report of one that differs, if any does.
        Before a worker goes on, such an address is left out, as is one that does not respond; only
        if all differ, the report of one is returned. Raises BackendError if none responds.
        """
        asked = [each for each in self.backends if address_of(each) not in self.left_out]
        found = await asyncio.gather(*(_report(each, answers) for each in asked))
        both = list(zip(map(address_of, asked), found, strict=True))
        failed = {name: each for name, each in both if isinstance(each, BackendError)}
        reports = {name: each for name, each in both if not isinstance(each, BackendError)}
        if failed and not reports:
            raise next(iter(failed.values()))
        other = {name: why for name, report in reports.items() if (why := self._changed(report))}
        if other and (answers or len(other) == len(reports)):
            name = next(iter(other))
            return {**reports[name], ADDRESS: name}
        if not answers:
            self.left_out |= {name: error.message for name, error in failed.items()} | other
        return next((report for name, report in reports.items() if name not in other), {})

    def _changed(self, report: Mapping[str, Any]) -> str:
        """Say in what a report differs from what is known, empty if it does not."""
        if self.known is None:
            return ""
        for name, known in self.known.prints.items():
            if name in report and report[name] != known:
                return f"its {_label(name)} is {report[name]}, and was {known}"
        answers = self.known.facts.get("answers")
        if answers and count_differences(answers, report.get("answers")) >= CHANGED_ANSWERS:
            return "it answers differently"
        return ""

    async def compare(self, backend: Backend) -> str:
        """Probe an address, and return how it differs from the others, empty if it does not.

        If nothing is known of the others yet, they will be compared with this one. Raises
        BackendError.
        """
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                look = await _look(backend)
        except TimeoutError:
            look = TransientError("deadline", f"no answer within {PROBE_SECONDS:g} s")
        if isinstance(look, BackendError):
            raise look
        if self.known is None:
            self.known = look
        if _is_unusable(look, [self.known]):
            raise TransientError("unusable", look.findings.warnings[-1])
        if look.findings.refusal:
            return f"{look.address}: {look.findings.refusal}"
        return self.known.difference(look)


async def _look(backend: Backend) -> Look | BackendError:
    try:
        findings = await backend.probe()
        report = await _report(backend)
    except BackendError as error:
        return error
    if isinstance(report, BackendError):
        return report
    prints = {name: value for name, value in report.items() if name not in OF_TIME}
    return Look(address_of(backend), findings, prints)


async def _report(backend: Backend, answers: bool = False) -> Mapping[str, Any] | BackendError:
    """Return the fingerprint of an address, empty if its backend has none, or why it failed."""
    ask = getattr(backend, "fingerprint", None)
    try:
        return dict(await ask(answers)) if ask is not None else {}
    except BackendError as error:
        return error


def _is_unusable(look: Look, others: Sequence[Look]) -> bool:
    """Return whether an address gave a probe no completion, although another did."""
    answered = any("model_returned" in other.facts for other in others)
    silent = "model_returned" not in look.facts and not look.findings.refusal
    return answered and silent and bool(look.findings.warnings)


def address_of(backend: Backend) -> str:
    """Return the address of a backend as people are shown it."""
    return without_credentials(backend.endpoint)


def _label(name: str) -> str:
    return "model" if name == "id" else name.replace("_", " ")


def _word(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _refusal(what: str) -> str:
    return f"{what}; serve the same model in the same way at all addresses of a judge"


def members_of(backend: Backend) -> tuple[Backend, ...]:
    """Return the backends of a judge's addresses: one, unless it has several."""
    return backend.backends if isinstance(backend, Replicas) else (backend,)


def with_replicas(backends: Sequence[Backend]) -> Backend:
    """Return one backend for all addresses of a judge."""
    return Replicas(backends) if len(backends) > 1 else backends[0]
