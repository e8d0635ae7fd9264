"""The estimate of a run before it starts: requests, cost and duration.

Prompts are measured on a sample of the requests. Characters per token, answer lengths and durations
are learned from the model's newest calls. Without such calls, lengths are guessed, as the estimate
says, and the duration is unknown. The cost is unknown without a price.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Annotated

from django.db.models import QuerySet
from django.utils import timezone

from annotation.campaign_setup.dry_run import DryRun, JudgeCost
from annotation.models import Assignment, Campaign, User
from annotation.protocols.base import Protocol
from datasets.access import managed_by
from datasets.models import Batch
from datasets.work.guard import for_workers
from judging.answers import cache
from judging.answers.results import ANSWERED
from judging.backends.base import SetupError
from judging.backends.contents import ADDRESSES
from judging.batch_api.requests import build_preparer
from judging.costs import FREE, Rates, find_rates, format_money, longest_completion, tokens_in
from judging.judge_backends import build_backend
from judging.judge_file.document import file_of
from judging.models import CONCURRENCY, Judge, JudgeCall, JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import planning
from judging.runs.ledger import assignments_of
from tandem.verbs import verb_of

SAMPLE = 40
COMPARED = 1000
CHUNK = 500
LEARNED = 200
MEASURED = 20
CHARACTERS = 4.0
TOKENS_A_UNIT = 60
Status = Assignment.Status


@dataclass(frozen=True)
class Estimate:
    """Counts of assignments and tokens, US dollars and seconds, which are None if unknown.

    Of the `rows`, `missing` have no result. Of these, `reused` will be answered from equal requests
    and `calls` will be asked.
    """

    rows: Annotated[int, "requests over the whole campaign"]
    missing: Annotated[int, "requests without a result"]
    reused: int
    calls: Annotated[int, "requests that the run would send"]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    concurrency: int
    cost: Annotated[Decimal | None, "in US dollars; null where unknown"] = None
    seconds: float | None = None
    cost_unknown: Annotated[str, "why the cost is null"] = ""
    time_unknown: Annotated[str, "why the time is null"] = ""
    notes: Annotated[tuple[str, ...], "assumptions of the estimate"] = ()
    basis: Annotated[str, "what the tokens are estimated from; empty if no server is asked"] = ""

    @property
    def sentence(self) -> str:
        """The estimate as a sentence for people."""
        if not self.missing:
            return f"Nothing will be asked: all {self.rows:,} have a result."
        line = f"{self.calls:,} of {self.rows:,} will be asked"
        if self.reused:
            line += f" and {self.reused:,} reused from equal requests"
        line += " at no cost" if self.cost == 0 else ""
        known = [format_money(self.cost)] if self.cost else []
        known += [] if self.seconds is None else [duration(self.seconds)]
        line += f", about {' and '.join(known)}" if known else ""
        unknown = [why for why in (self.cost_unknown, self.time_unknown) if why]
        return "; ".join([line, *unknown]) + "."


@dataclass(frozen=True)
class CallAverages:
    """Averages over a model's earlier `calls` with token counts. None if no call has them."""

    characters: float | None
    completion: float | None
    cached_share: float
    seconds: float | None
    calls: int = 0


@for_workers
def estimate(
    judge: Judge,
    campaign: Campaign,
    reuse: str = JudgeRun.Reuse.NEVER,
    limit: int | None = None,
    concurrency: int | None = None,
    on: date | None = None,
    copied: Iterable[Assignment] | None = None,
) -> Estimate:
    """Estimate a run that would start now, without storing anything.

    For a trial, `copied` are the judge's assignments that it would repeat. Reused answers are
    counted one by one up to 1,000 assignments, and from a sample above that. Raises SetupError,
    PromptError.
    """
    backend = build_backend(judge)
    preparer = build_preparer(campaign, judge, backend)
    most = SAMPLE if reuse == JudgeRun.Reuse.NEVER else COMPARED
    total, missing, rows = _missing(campaign, judge, most, copied)
    prepared = preparer.prepare_all(rows)
    asked = missing if limit is None else min(missing, limit)
    reused = round(asked * _share_reused(judge, campaign, reuse, prepared))
    learned = _learn(judge, campaign)
    prompt, completion = _tokens_a_call(judge, learned, prepared[:SAMPLE])
    figures = Estimate(
        rows=total,
        missing=missing,
        reused=reused,
        calls=asked - reused,
        prompt_tokens=round(prompt * (asked - reused)),
        cached_tokens=round(prompt * learned.cached_share * (asked - reused)),
        completion_tokens=round(completion * (asked - reused)),
        concurrency=concurrency or int(judge.params.get("concurrency", CONCURRENCY)),
        notes=tuple(_describe_assumptions(judge, learned)) if backend.endpoint else (),
        basis=_basis(judge, learned) if backend.endpoint else "",
    )
    day, endpoint = on or timezone.now().date(), backend.endpoint
    rates = find_rates(judge.model, day, endpoint, judge.team_id) if endpoint else FREE
    return _with_duration(_with_cost(figures, rates, judge), learned.seconds, judge)


def duration(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours."""
    if seconds < 90:
        whole = max(1, round(seconds))
        return f"{whole} second" + "s" * (whole > 1)
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _missing(
    campaign: Campaign, judge: Judge, most: int, copied: Iterable[Assignment] | None = None
) -> tuple[int, int, list[Assignment]]:
    """Count all assignments and those without a result, and return a sample of up to `most`."""
    planned = (
        planning.missing_assignments(campaign, judge)
        if copied is None
        else planning.missing_copies(campaign, judge, copied)
    )
    there = assignments_of(campaign, judge)
    waiting = there.filter(status__in=(Status.OPEN, Status.LEASED, Status.CANCELLED))
    drawn: list[int | Assignment] = []
    missing = new = 0
    chance = random.Random(0)
    for row in _stored_and_new(waiting, planned):
        missing += 1
        new += isinstance(row, Assignment)
        if len(drawn) < most:
            drawn.append(row)
        elif (place := chance.randrange(missing)) < most:
            drawn[place] = row
    return there.count() + new, missing, list(_load_assignments(campaign, drawn))


def _stored_and_new(
    there: QuerySet[Assignment], new: Iterable[Assignment]
) -> Iterator[int | Assignment]:
    """Yield the ids of stored assignments, and the assignments not yet created."""
    yield from there.order_by("id").values_list("pk", flat=True).iterator(chunk_size=2000)
    yield from new


def _load_assignments(campaign: Campaign, rows: Iterable[int | Assignment]) -> Iterator[Assignment]:
    """Load the assignments with everything a request needs, grouped by item."""
    new = [row for row in rows if isinstance(row, Assignment)]
    ids = sorted(row for row in rows if isinstance(row, int))
    for start in range(0, len(ids), CHUNK):
        found = Assignment.objects.filter(pk__in=ids[start : start + CHUNK])
        new += found.select_related("item__query").order_by("id")
    for row in sorted(new, key=lambda row: row.item_id):
        row.item.campaign = campaign
        yield row


def _share_reused(
    judge: Judge, campaign: Campaign, reuse: str, prepared: Sequence[Prepared]
) -> float:
    run = JudgeRun(judge=judge, campaign=campaign, reuse=reuse)
    found = cache.find_answers(run, (each.request_hash for each in prepared))
    return sum(p.request_hash in found for p in prepared) / len(prepared) if prepared else 0.0


def _learn(judge: Judge, campaign: Campaign) -> CallAverages:
    """Learn from the newest calls of the same model with the same kind of request."""
    calls = JudgeCall.objects.filter(
        state=ANSWERED,
        reused_from=None,
        repair=False,
        run__judge__backend=judge.backend,
        run__judge__model=judge.model,
        run__campaign__protocol=campaign.protocol,
        run__campaign__protocol_file=campaign.protocol_file,
        run__judge__granularity=judge.granularity,
    )
    newest = list(calls.order_by("-id").values_list("usage", "seconds")[:LEARNED])
    counts = [tokens for usage, _ in newest if (tokens := tokens_in(usage)) and tokens[0]]
    # Answers from batch files have no duration.
    seconds = [each for _, each in newest if each > 0]
    prompt = sum(each[0] for each in counts)
    return CallAverages(
        characters=_characters(calls) if counts else None,
        completion=sum(each[2] for each in counts) / len(counts) if counts else None,
        cached_share=sum(each[1] for each in counts) / prompt if prompt else 0.0,
        seconds=sum(seconds) / len(seconds) if seconds else None,
        calls=len(counts),
    )


def _characters(calls: QuerySet[JudgeCall]) -> float | None:
    """Return characters per token, over requests that can still be rebuilt as sent."""
    preparers: dict[int, Preparer] = {}
    sent = tokens = 0
    for call in _with_rows(calls):
        run = call.run
        if run.pk not in preparers:
            preparers[run.pk] = build_preparer(run.campaign, run.judge, build_backend(run.judge))
        prepared = preparers[run.pk].prepare(call.assignment)
        if prepared.request_hash == call.request_hash and (counts := tokens_in(call.usage)):
            sent += prepared.request.length
            tokens += counts[0]
    return sent / tokens if tokens else None


def _with_rows(calls: QuerySet[JudgeCall]) -> QuerySet[JudgeCall]:
    needed = (
        "run__campaign",
        "run__judge__rater",
        "assignment__item__campaign",
        "assignment__item__query",
    )
    return calls.select_related(*needed).order_by("-id")[:MEASURED]


def _tokens_a_call(
    judge: Judge, learned: CallAverages, prepared: Sequence[Prepared]
) -> tuple[float, float]:
    """Return the average tokens of a prompt and of a completion."""
    if not prepared:
        return 0.0, 0.0
    length = sum(each.request.length for each in prepared) / len(prepared)
    units = sum(len(each.units) for each in prepared) / len(prepared)
    guessed = longest_completion(judge.params) or TOKENS_A_UNIT * units
    completion = guessed if learned.completion is None else learned.completion
    return length / (learned.characters or CHARACTERS), completion


def _basis(judge: Judge, learned: CallAverages) -> str:
    """Say what the numbers of tokens are estimated from."""
    if learned.calls and learned.characters is not None:
        noun = "call" if learned.calls == 1 else "calls"
        return f"{learned.calls:,} earlier {noun} of this model under this protocol"
    prompts = "the characters of the prompts"
    if learned.calls:
        noun = "call" if learned.calls == 1 else "calls"
        return f"{prompts}, and answers in {learned.calls:,} earlier {noun} of this model"
    if longest_completion(judge.params):
        return f"{prompts}, and the maximum length of answers"
    return f"{prompts}, and a default length of answers"


def _describe_assumptions(judge: Judge, learned: CallAverages) -> Iterator[str]:
    if learned.characters is None:
        yield f"a token is assumed to have {CHARACTERS:g} characters"
    if learned.completion is None:
        most = longest_completion(judge.params)
        yield (
            f"each answer is assumed to have the maximum length, {most:,} tokens"
            if most
            else f"answers are assumed to have {TOKENS_A_UNIT} tokens per unit"
        )


def _with_cost(figures: Estimate, rates: Rates | None, judge: Judge) -> Estimate:
    if rates is None:
        why = f"the cost is unknown, since {judge.model} has no price ({verb_of('create_price')})"
        return replace(figures, cost_unknown=why)
    counts = figures.prompt_tokens, figures.cached_tokens, figures.completion_tokens
    return replace(figures, cost=rates.cost_of_tokens(*counts))


def _with_duration(figures: Estimate, seconds: float | None, judge: Judge) -> Estimate:
    if seconds is None:
        model = judge.model or judge
        why = f"the duration is unknown, since {model} has answered no such request yet"
        return replace(figures, time_unknown=why)
    addresses = 1 + len(judge.params.get(ADDRESSES, ()))
    at_once = min(figures.concurrency * addresses, figures.calls) or 1
    return replace(figures, seconds=figures.calls * seconds / at_once)


MOST_JUDGES = 6


def design_costs(user: User, protocol: Protocol, batch: Batch, found: DryRun) -> list[JudgeCost]:
    """Return the costs of an account's newest judges over a design, by their price lists.

    Tokens are guessed from the guideline and the texts, so the figures are rough.
    """
    judges = managed_by(user, Judge.objects.filter(base=None)).select_related("rater")
    return [
        _design_cost(judge, protocol, found)
        for judge in judges.order_by("-pk")[:MOST_JUDGES]
        if not judge.file or _is_about(file_of(judge).protocol, protocol)
    ]


def _is_about(one: Protocol, other: Protocol) -> bool:
    return (one.name, one.stored) == (other.name, other.stored)


def _design_cost(judge: Judge, protocol: Protocol, found: DryRun) -> JudgeCost:
    name = judge.rater.name
    try:
        endpoint = build_backend(judge).endpoint
    except SetupError as error:
        return JudgeCost(name, None, str(error))
    if not endpoint:
        return JudgeCost(name, Decimal(0), "asks no server")
    rates = find_rates(judge.model, timezone.now().date(), endpoint, judge.team_id)
    if rates is None:
        return JudgeCost(name, None, "no price known")
    by_unit = judge.granularity == Judge.Granularity.UNIT
    requests = found.units if by_unit else found.items
    texts = found.characters * requests / max(1, found.items)
    prompt = (texts + requests * len(protocol.guideline)) / CHARACTERS
    cost = rates.cost_of_tokens(round(prompt), 0, TOKENS_A_UNIT * found.units)
    return JudgeCost(name, cost, "roughly, at four characters a token")
