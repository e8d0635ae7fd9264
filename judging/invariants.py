"""Checks of the invariants, which hold at any instant after any failure, a line per violation.

- I1: exactly one answer counts for each question.
- I2: nothing acknowledged is lost.
- I3: no item has more people than planned.
- I4: every assignment of a judge is in one state, and runs count the closed ones.
- I5: a failure is not a label.
- I6: nothing is asked without need.
- I7: a fault never shows as a wrong page.
- I8: the cost of a run is the sum of its calls.

`violations` runs every check by name in one pass. `datasets` checks texts, `annotation` answers
and samples, `audit` the trail.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotation import integrity as answers
from annotation.counters import wrong_counts
from annotation.integrity import CheckedCounts
from annotation.models import CARRIED, Assignment, Campaign, Item, Label, Rater, Response
from audit.sealed import checking
from audit.sealed import digests as stored_digests
from audit.seals import find_broken_seals
from audit.violations import Check, Violation
from datasets import digests
from judging.costs import TokenCounts, count_tokens, reported_cached_tokens
from judging.models import ACTIVE, Judge, JudgeCall, JudgeRun, Shard, UnassignedCall
from judging.runs import ledger

PROBES, GROUP = 20, 32
PROBE_TOKENS = 200
NOT_ASKED = Q(state="poisoned") | Q(reused_from__isnull=False)
JUDGE_CHANNELS = ("judge", "parser")
CHUNK = 500


@contextmanager
def one_instant() -> Iterator[None]:
    """Read everything in the block from one consistent snapshot, without blocking others."""
    if connection.in_atomic_block:
        yield
        return
    how = "" if connection.vendor == "sqlite" else " ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    with connection.cursor() as cursor:
        cursor.execute(f"BEGIN{how}")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def database_violations() -> Iterator[str]:
    """Yield the violations that the database alone can show."""
    yield from one_answer_stands()
    yield from no_item_has_too_many_people()
    yield from every_row_is_in_one_state()
    yield from leased_rows_are_of_a_run()
    yield from runs_count_what_was_closed()
    yield from failures_are_no_labels()
    yield from runs_count_their_calls()


def one_answer_stands() -> Iterator[str]:
    """I1: one current response per assignment, and one value per unit, variable and rater."""
    responses = Response.objects.filter(current=True).order_by().values("assignment")
    for twice in responses.annotate(n=Count("pk")).filter(n__gt=1):
        yield f"I1: {_row(twice['assignment'])} has {twice['n']} answers that stand"
    by = ("response__assignment__rater", "response__assignment__replicate", "unit", "variable")
    labels = Label.objects.filter(response__current=True).order_by().values(*by)
    for twice in labels.annotate(n=Count("pk")).filter(n__gt=1):
        rater = Rater.objects.get(pk=twice[by[0]])
        unit = f"unit {twice['unit']}, variable {twice['variable']}"
        yield f"I1: {unit} has {twice['n']} labels by {rater.name}"


def no_item_has_too_many_people() -> Iterator[str]:
    """I3: taken slots match the counter, stay within the quota, and no person has two."""
    held = Count("assignments", filter=Q(assignments__slot__isnull=False))
    counted = Item.objects.order_by().annotate(held=held)
    wrong = counted.exclude(held=F("taken")) | counted.filter(held__gt=F("quota"))
    for item in wrong.select_related("campaign"):
        places = f"{item.held} people have a slot, {item.taken} are counted, {item.quota} planned"
        yield f"I3: campaign {item.campaign}, item {item.key}: {places}"
    people = Assignment.objects.filter(rater__kind=Rater.Kind.HUMAN).exclude(scope=CARRIED)
    people = people.order_by()
    given = people.values("item__key", "item__campaign__name", "rater__name", "replicate", "item")
    for twice in given.annotate(n=Count("pk")).filter(n__gt=1):
        place = f"campaign {twice['item__campaign__name']}, item {twice['item__key']}"
        yield f"I3: {place}: given to {twice['rater__name']} {twice['n']} times"


def every_row_is_in_one_state() -> Iterator[str]:
    """I4: each assignment of a judge has a valid state, and a lease if and only if it is leased."""
    rows = Assignment.objects.filter(rater__judge__isnull=False)
    for row in rows.exclude(status__in=Assignment.Status.values):
        yield f"I4: {_row(row.pk)} is {row.status!r}, which is not a state"
    leased = Q(status=Assignment.Status.LEASED)
    for row in rows.filter(~leased & Q(lease__isnull=False) | leased & Q(lease=None)):
        yield f"I4: {_row(row.pk)} is {row.status} {'with' if row.lease else 'without'} a lease"
    for row in rows.filter(status=Assignment.Status.FAILED, reason=""):
        yield f"I4: {_row(row.pk)} failed without a reason"


def leased_rows_are_of_a_run() -> Iterator[str]:
    """I4: leased assignments belong to the active run, or to a dead process before it.

    A run that no process has leased yet may still have the assignments of a dead process.
    """
    leased = Assignment.objects.filter(rater__judge__isnull=False, status=Assignment.Status.LEASED)
    of_the_row = JudgeRun.objects.filter(
        campaign=OuterRef("item__campaign"), judge__rater=OuterRef("rater"), state__in=ACTIVE
    )
    for row in leased.filter(~Exists(of_the_row)):
        yield f"I4: {_row(row.pk)} is leased, and no run is under way"
    others = of_the_row.exclude(lease=OuterRef("lease")).exclude(lease=None)
    of_a_worker = Shard.objects.filter(lease=OuterRef("lease"), run__state__in=ACTIVE)
    for row in leased.filter(Exists(others), ~Exists(of_a_worker)):
        yield f"I4: {_row(row.pk)} is leased, but not to the run that is under way"


def runs_count_what_was_closed() -> Iterator[str]:
    """I4: the counts of all runs of a judge over a campaign sum up to its closed assignments."""
    for campaign, judge in _pairs():
        rows = ledger.assignments_of(campaign, judge)
        # No run has closed imported answers and answers carried over from another campaign.
        answered = Q(responses__current=True, responses__door__in=JUDGE_CHANNELS)
        there = (
            rows.filter(answered, status=Assignment.Status.DONE, responses__carried=None).count(),
            rows.filter(status=Assignment.Status.FAILED).count(),
        )
        runs = JudgeRun.objects.filter(campaign=campaign, judge=judge)
        done, failed = sum(run.done for run in runs), sum(run.failed for run in runs)
        if (done, failed) != there:
            yield (
                f"I4: campaign {campaign}, judge {judge}: runs count {done} done and {failed} "
                f"failed, the ledger {there[0]} and {there[1]}"
            )


def failures_are_no_labels() -> Iterator[str]:
    """I5: an assignment of a judge has a current answer if and only if it is done."""
    rows = Assignment.objects.filter(rater__judge__isnull=False)
    answers = Count("responses", filter=Q(responses__current=True))
    counted = rows.annotate(answers=answers)
    done = Q(status=Assignment.Status.DONE)
    for row in counted.filter(~done & Q(answers__gt=0) | done & Q(answers=0)):
        yield f"I5: {_row(row.pk)} is {row.status} and has {row.answers} answers that stand"


def runs_count_their_calls() -> Iterator[str]:
    """I6 and I8: a run's calls, tokens and cost equal the sums over its calls and its probes."""
    probes: dict[int, list[tuple[dict[str, Any], Decimal | None]]] = defaultdict(list)
    rows = UnassignedCall.objects.exclude(run=None).values_list("run", "usage", "cost")
    for of, usage, cost in rows.iterator(2000):
        probes[of].append((usage, cost))
    for run in JudgeRun.objects.select_related("campaign", "judge__rater"):
        calls = JudgeCall.objects.filter(run=run).exclude(NOT_ASKED)
        probed = probes[run.pk]
        usages = [*_usages(calls), *(usage for usage, _ in probed)]
        counted = {"calls": calls.count() + len(probed), **_tokens_of(usages)}
        for name, there in counted.items():
            if there != (stated := getattr(run, name)):
                # Up to version 0.5, a run stored the server's own count.
                if name == "cached_tokens" and stated == sum(map(reported_cached_tokens, usages)):
                    continue
                law = "I6" if name == "calls" else "I8"
                yield f"{law}: {_run(run)} counts {stated} {name}, its calls {there}"
        nothing = Decimal(0)
        spent = calls.aggregate(spent=Coalesce(Sum("cost"), nothing))["spent"]
        spent += sum((cost for _, cost in probed if cost is not None), nothing)
        if abs(spent - run.cost) >= Decimal("0.000001"):
            yield f"I8: {_run(run)} cost {run.cost}, its calls {spent}"


def lost_saves(keys: Iterable[str]) -> Iterator[str]:
    """I2: each acknowledged save is stored, by its key or its assignment's uid."""
    expected = {key.strip() for key in keys if key.strip()}
    every = sorted(expected)
    for start in range(0, len(every), CHUNK):
        some = every[start : start + CHUNK]
        by_key = Response.objects.filter(key__in=some)
        expected -= set(by_key.values_list("key", flat=True))
        answered = Response.objects.filter(assignment__uid__in=[k for k in some if _is_uid(k)])
        expected -= {str(uid) for uid in answered.values_list("assignment__uid", flat=True)}
    yield from (f"I2: the acknowledged save {key} is not stored" for key in sorted(expected))


def differs_from_server(stats: Mapping[str, Any], kills: int) -> Iterator[str]:
    """I6 and I8: compare the server's counts with all stored calls.

    `stats` are those of the fake server: `calls`, `usage`, `by_outcome`. Each kill may have cost
    the calls in flight and one group that was not stored. Probes of a killed worker come on top.
    """
    runs = JudgeRun.objects.all()
    calls = JudgeCall.objects.exclude(NOT_ASKED)
    there, repaid = calls.count(), kills * (_most_at_once() + GROUP)
    most = there + PROBES * runs.count() + repaid
    if not calls.exclude(completion=None).count() <= stats["calls"] <= most:
        yield f"I6: the server counted {stats['calls']} calls, {there} are stored, {most} allowed"
    if set(stats["by_outcome"]) - {"ok"}:
        return
    beside = stats["calls"] - calls.exclude(usage={}).count()
    for name in ("prompt_tokens", "completion_tokens"):
        ours, counted = sum(getattr(run, name) for run in runs), stats["usage"].get(name, 0)
        # A lost call, or a probe of a killed worker, is at most as long as these.
        longest = max([PROBE_TOKENS, *_tokens_of_each(calls, name)])
        if not ours <= counted <= ours + beside * longest:
            most = ours + beside * longest
            yield f"I8: runs count {ours} {name}, the server {counted}, {most} allowed"


def server_errors(lines: Iterable[str]) -> Iterator[str]:
    """I7: in the JSON lines of the site's log, no request ended with a server error but 503."""
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        status = entry.get("status") if isinstance(entry, dict) else None
        if isinstance(status, int) and status >= 500 and status != 503:
            yield f"I7: line {number} of the log: {entry.get('path')} was answered {status}"


def _most_at_once() -> int:
    runs = JudgeRun.objects.select_related("judge")
    return max((run.most_at_once for run in runs), default=0)


def _pairs() -> list[tuple[Campaign, Judge]]:
    runs = JudgeRun.objects.select_related("campaign", "judge__rater").order_by("pk")
    return list(
        {(run.campaign_id, run.judge_id): (run.campaign, run.judge) for run in runs}.values()
    )


def _tokens_of_each(calls: QuerySet[JudgeCall], name: str) -> Iterator[int]:
    usages = calls.exclude(usage={}).values_list("usage", flat=True)
    yield from (_tokens_of([usage])[name] for usage in usages.iterator(2000))


def _usages(calls: QuerySet[JudgeCall]) -> QuerySet[JudgeCall, dict[str, Any]]:
    return calls.values_list("usage", flat=True)


def _tokens_of(usages: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return asdict(sum(map(count_tokens, usages), TokenCounts()))


def _is_uid(text: str) -> bool:
    try:
        return bool(uuid.UUID(text))
    except ValueError:
        return False


def _row(pk: int) -> str:
    row = Assignment.objects.select_related("item__campaign", "rater").get(pk=pk)
    part = f", {row.scope}" if row.scope else ""
    return f"campaign {row.item.campaign}, {row.rater.name}, item {row.item.key}{part}"


def _run(run: JudgeRun) -> str:
    return f"campaign {run.campaign}, judge {run.judge}, {run}"


_TALLIES = Check(
    "Tallies",
    "the numbers that pages show match what they count",
    "This is safe: count again by `manage.py shell -c 'from annotation.counters import "
    "recount; recount()'`.",
)
_AUDIT_TRAIL = Check(
    "audit",
    "the audit trail is as it was sealed",
    "It cannot be repaired: that is the purpose of the seals. Compare a backup, and keep both.",
)
_RERUN = "Restore the rows from a backup, or exclude the judge and run it again under another name."
LAWS: tuple[Check, ...] = (
    Check(
        "I1",
        "each assignment has one current answer, and each rater one label per unit and variable",
        "If there are two answers, read the newest revision and leave only that one current.",
    ),
    Check(
        "I2",
        "every save that was acknowledged to a client is stored",
        "Look for the save in a backup; its key is in the list of keys given to the check.",
    ),
    Check(
        "I3",
        "no item has more people than planned, and no person has it twice",
        "Set `taken` to the number of assignments with a slot. Keep a surplus answer, exclude "
        "nobody because of it, and mention it in the methods.",
    ),
    Check(
        "I4",
        "each of a judge's assignments is in one state, leased only by the active run, and runs "
        "count what was closed",
        "Wait a minute and check again: a new run continues what a dead one left. "
        "The counts of a run may be set to those of its assignments.",
    ),
    Check(
        "I5", "a judge's failure is not a label, and a finished assignment has an answer", _RERUN
    ),
    Check(
        "I6",
        "nothing was asked without need, and runs count their calls",
        "The counts of a run may be set to those of its calls, which are what was paid for.",
    ),
    Check(
        "I7",
        "a fault is answered with 503 and never shows a wrong page",
        "Nothing is stored wrongly; the log's line says which page to look at.",
    ),
    Check(
        "I8",
        "what runs cost is what their calls cost",
        "Sums of a run may be set to those of its calls; the calls are what was paid for.",
    ),
)
CHECKS: tuple[Check, ...] = (
    digests.TEXTS,
    stored_digests.DIGESTS,
    *answers.CHECKS,
    _TALLIES,
    checking.SEALED,
    _AUDIT_TRAIL,
    *LAWS,
)


def violations(seen: CheckedCounts) -> Iterator[Violation]:
    """Yield every violation in the database as it is found.

    Call this within `invariants.one_instant`. `seen` counts what was checked.
    """
    yield from _named_checks(LAWS, database_violations())
    yield from _of(_TALLIES, (line.removeprefix("Tallies: ") for line in wrong_counts()))
    yield from _of(_AUDIT_TRAIL, find_broken_seals())
    yield from checking.find_changes(seen)
    yield from stored_digests.find_wrong_digests()
    yield from digests.find_changes()
    judges = set(Judge.objects.values_list("rater", flat=True))
    try:
        yield from answers.violations(judges, seen)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # A value that Tandem cannot have stored, such as an unknown option of a campaign.
        wrong = f"the checks of answers stopped at a value that cannot be read ({error})"
        yield Violation(checking.SEALED.name, wrong)


def as_violations(lines: Iterable[str]) -> Iterator[Violation]:
    """Convert lines of this module to violations."""
    yield from _named_checks(LAWS, lines)


def _named_checks(checks: Iterable[Check], lines: Iterable[str]) -> Iterator[Violation]:
    names = {check.name for check in checks}
    for line in lines:
        name, _, wrong = line.partition(": ")
        if name not in names:
            raise ValueError(f"{name!r} is the name of no check; add it to LAWS")
        yield Violation(name, wrong)


def _of(check: Check, lines: Iterable[str]) -> Iterator[Violation]:
    yield from (Violation(check.name, line) for line in lines)
