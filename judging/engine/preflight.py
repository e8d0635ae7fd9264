"""Find out what a server can do before a run, and whether it is still the same at the end.

A backend may have an `async fingerprint(answers)`, which returns a mapping with the model and its
version and, with `answers`, hashes of a few answers. If the fingerprint changes during a run, its
labels come from two different judges. `recall(facts)` gives the backend the facts of an earlier
probe.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from asgiref.sync import async_to_sync

from annotation.presentation import schema
from judging.answers.calls import storable
from judging.answers.unassigned import record_probes
from judging.backends.base import (
    Backend,
    BackendError,
    FatalError,
    Findings,
    RejectedError,
    UnassignedReply,
)
from judging.backends.capabilities import CHANGED_ANSWERS, count_differences
from judging.backends.decisions import find_offered_form
from judging.backends.replicas import ADDRESS
from judging.engine import Control, Ending, in_database, loop
from judging.judge_backends import setup_of
from judging.models import JudgeCall, JudgeRun
from judging.runs import lifecycle
from judging.runs.grants import Use

T = TypeVar("T")
Fingerprint = Mapping[str, Any]


class RefusedRunError(Exception):
    """The server cannot do what this judge needs, although it may serve others."""


class _AbortedError(Exception):
    """The check was aborted, for a reason that stops the engine as well."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.how)
        self.ending = ending


def probe_run(
    run: JudgeRun, lease: uuid.UUID, backend: Backend, control: Control
) -> Findings | Ending:
    """Probe the server for the first worker on a run, or compare it with the stored findings.

    Return an ending if the run was stopped or lost meanwhile, or if the server refuses everything
    or has changed. If the server does not respond, the run starts anyway and the next worker
    probes. Raises RefusedRunError.
    """
    run.refresh_from_db(fields=["manifest"])
    if (known := run.manifest.get("probe")) is not None:
        if (recall := getattr(backend, "recall", None)) is not None:
            recall(known["facts"])
        if mixed := detect_change(run, lease, backend, control):
            return Ending("fatal", mixed)
        return Findings(known["facts"], tuple(known["warnings"]))
    try:
        findings, prints = _while_leased(run, lease, control, backend, lambda: _probe(backend, run))
    except _AbortedError as left:
        return left.ending
    except (FatalError, RejectedError) as error:
        return Ending("fatal", error.message, pauses=True)
    except BackendError as error:
        return Findings(warnings=(f"the server could not be probed: {error.message}",))
    found = {"facts": storable(dict(findings.facts)), "warnings": list(findings.warnings)}
    _store_facts(run, probe=found, fingerprint=prints)
    if findings.refusal:
        raise RefusedRunError(findings.refusal)
    return findings


def detect_change(
    run: JudgeRun, lease: uuid.UUID, backend: Backend, control: Control, at_end: bool = False
) -> str:
    """Describe how the server has changed since the run began, empty if it has not.

    Such a run is marked as mixed. Answers are compared only `at_end`.
    """
    what = _other_models(run) or _other_fingerprint(run, lease, backend, control, at_end)
    if what:
        _store_facts(run, mixed=what)
    return what


def _other_models(run: JudgeRun) -> str:
    named = JudgeCall.objects.filter(run=run).exclude(model_returned="").order_by()
    models = sorted(set(named.values_list("model_returned", flat=True).distinct()))
    return f"answers came from several models: {', '.join(models)}" if len(models) > 1 else ""


def _other_fingerprint(
    run: JudgeRun, lease: uuid.UUID, backend: Backend, control: Control, at_end: bool
) -> str:
    before = run.manifest.get("fingerprint")
    if not before:
        return ""
    answers = run.manifest["probe"]["facts"].get("answers") if at_end else None
    try:
        now = _while_leased(
            run, lease, control, backend, lambda: _fingerprint_alone(backend, bool(answers))
        )
    except (_AbortedError, BackendError):
        return ""
    different = [name for name in before if name in now and now[name] != before[name]]
    if different:
        name = different[0]
        whose = f"the {name} of {now[ADDRESS]}" if ADDRESS in now else f"the server's {name}"
        return f"{whose} was {before[name]} when the run began and is {now[name]} now"
    if answers and count_differences(answers, now.get("answers")) >= CHANGED_ANSWERS:
        at = f" at {now[ADDRESS]}" if ADDRESS in now else ""
        return f"the server{at} gives other answers than when the run began, under the same name"
    return ""


async def _probe(backend: Backend, run: JudgeRun) -> tuple[Findings, Fingerprint]:
    async with backend:
        findings, prints = await backend.probe(), await _fingerprint(backend)
    offered = (
        await _offered_decisions(run, backend) if findings.facts and not findings.refusal else ""
    )
    facts = {**findings.facts, **({"offers_decisions": offered} if offered else {})}
    return replace(findings, facts=facts), prints


async def _offered_decisions(run: JudgeRun, backend: Backend) -> str:
    """Return the server's decision endpoint, if decisions alone could answer the campaign."""
    if run.judge.backend != "openai" or not await in_database(_is_closed, run):
        return ""
    noted: list[UnassignedReply] = getattr(backend, "unassigned", [])
    return await find_offered_form(setup_of(run.judge), noted)


def _is_closed(run: JudgeRun) -> bool:
    return schema(run.campaign, "judges").is_closed


async def _fingerprint_alone(backend: Backend, answers: bool) -> Fingerprint:
    async with backend:
        return await _fingerprint(backend, answers)


async def _fingerprint(backend: Backend, answers: bool = False) -> Fingerprint:
    ask: Callable[[bool], Awaitable[Fingerprint]] | None = getattr(backend, "fingerprint", None)
    return storable(dict(await ask(answers))) if ask else {}


def _while_leased(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control,
    backend: Backend,
    look: Callable[[], Awaitable[T]],
) -> T:
    """Return the result of `look` while renewing the lease. Raises _AbortedError, BackendError.

    The backend's calls meanwhile are stored with the run.
    """

    async def looking() -> T:
        running, stopped = asyncio.get_running_loop(), asyncio.Event()
        control.listen(lambda: running.call_soon_threadsafe(stopped.set))
        granted: asyncio.Future[int | None] = running.create_future()
        asked = asyncio.ensure_future(_look_when(granted, backend, look))
        jobs = (_renew_lease(run, lease, granted), _abort_when(stopped))
        others = [asyncio.ensure_future(each) for each in jobs]
        try:
            await asyncio.wait({asked, *others}, return_when=asyncio.FIRST_COMPLETED)
            for other in others:
                if other.done():
                    other.result()
            return await asked
        finally:
            control.listen(None)
            for task in (asked, *others):
                task.cancel()
            await asyncio.gather(asked, *others, return_exceptions=True)

    try:
        found = async_to_sync(looking)()
        lifecycle.renew(run, lease)
        return found
    finally:
        store_probes(run, backend)


def store_probes(run: JudgeRun, backend: Backend) -> None:
    """Store the calls without an assignment that the backend has made since the last time."""
    noted: list[UnassignedReply] = getattr(backend, "unassigned", [])
    record_probes(run, noted)
    noted.clear()


async def _look_when(
    granted: asyncio.Future[int | None], backend: Backend, look: Callable[[], Awaitable[T]]
) -> T:
    """Look once calls are granted, with at most as many at once."""
    backend.granted = await granted  # type: ignore[attr-defined]  # of those that ask a server
    return await look()


async def _renew_lease(
    run: JudgeRun, lease: uuid.UUID, granted: asyncio.Future[int | None]
) -> None:
    # Half of what the run may have, so that a probe that dies does not keep the server from others.
    use = Use(wants=max(1, run.most_at_once // 2))
    while (orders := await in_database(lifecycle.renew, run, lease, use)) is not None:
        if orders.wish:
            raise _AbortedError(Ending("stopped"))
        if orders.closing:
            raise _AbortedError(Ending.from_stored(orders.closing))
        if orders.paused:
            raise _AbortedError(Ending("stopped", f"{run.lane} is paused: {orders.paused}"))
        if not granted.done() and orders.calls != 0:
            granted.set_result(orders.calls)
            calls = orders.calls or 0
            use = replace(use, in_flight=calls, allowed=calls, granted=calls)
        await asyncio.sleep(loop.RENEW_SECONDS)
    raise _AbortedError(Ending("lost"))


async def _abort_when(stopped: asyncio.Event) -> None:
    await stopped.wait()
    raise _AbortedError(Ending("stopped"))


def _store_facts(run: JudgeRun, **facts: Any) -> None:
    run.refresh_from_db(fields=["manifest"])
    run.manifest = {**run.manifest, **facts}
    JudgeRun.objects.filter(pk=run.pk).update(manifest=run.manifest)
