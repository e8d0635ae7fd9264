"""Derive a batch for the command, the page, the API and a job, and reread its labels."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.derivation.base import Job, Rule, Work, make_options
from annotation.derivation.decisions import (
    ADJUDICATED,
    TIES,
    Decider,
    Ties,
    check_decided,
    find_rater,
)
from annotation.derivation.rules import RULES
from annotation.exposure.ledger import saw_answers
from annotation.models import Assignment, Campaign, Exclusion, Response, User
from annotation.people.membership import readable
from datasets.derivation import (
    RULE,
    DerivationError,
    Derived,
    NotDecidedError,
    Origin,
    UnitDigests,
    derive_batch,
)
from datasets.material import as_rows
from datasets.models import Batch, LeftOut, Lineage
from datasets.work import Options, Progress, Result
from datasets.work.guard import for_workers
from tandem.files import rows
from tandem.files.rows import InputError
from tandem.options import named_options
from tandem.similar import did_you_mean

QUERIES_AT_ONCE = 200
OBJECTS_A_SEARCH = 200_000
MOST_NAMED = 5
UNREAD = "no rule reads it, since it asks about nothing that a batch could leave out"


@dataclass(frozen=True)
class DerivationRequest:
    """What to derive. `options` are those of the rule, by name; `by` is who asks for it.

    With `reader`, only campaigns count that this account may read. A command has none.
    """

    name: str
    batch: Batch
    rule: str
    campaigns: Sequence[str] = ()
    decided_by: str = ADJUDICATED
    ties: str = "refuse"
    options: Mapping[str, Any] = field(default_factory=dict)
    by: User | None = None
    reader: User | None = None


def check_campaigns(order: DerivationRequest) -> None:
    """Raise DerivationError unless the rule can and the account may read these campaigns."""
    _campaigns(rule_called(order.rule), order)


@for_workers
def derive(
    order: DerivationRequest,
    output: Path | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Derived:
    """Derive a batch by a rule, all or nothing. A dry run stores nothing.

    Raises DerivationError, or NotDecidedError for units that labels do not decide.
    """
    rule = rule_called(order.rule)
    campaigns = _campaigns(rule, order)
    for campaign in campaigns:
        saw_answers("derived", campaign)
    work = _work(rule, order.batch, campaigns, order.decided_by, order.ties, order.options)
    job = work.job
    if rule.protocols and not job.decider.by_rater:
        _check_finished(campaigns, work)
    origin = Origin(
        RULE,
        rule.name,
        rule.version,
        order.batch,
        stored_options(rule, job.options),
        [{"name": each.name, "protocol": each.protocol} for each in campaigns],
        job.decider.mode if rule.decides else "",
        job.decider.ties if rule.decides else "",
        by=order.by.pk if order.by else None,
    )

    def finish() -> None:
        work.finish()
        check_decided(job.decider, campaigns, work.plural)

    made = _apply_rule(work, progress)
    with _rare_collections():
        return derive_batch(
            order.name, origin, made, work.tally, work.digests, output, dry_run, finish
        )


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Search for reference cycles less often, in the whole process.

    A derivation creates millions of short-lived objects without cycles. Searching them would take a
    fifth of its time.
    """
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_SEARCH, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def left_out_of(batch: Batch) -> QuerySet[LeftOut]:
    """Return what a derived batch left out, with reasons that say how its units were decided."""
    for lineage in Lineage.objects.filter(batch=batch):
        for campaign in Campaign.objects.filter(name__in=[c["name"] for c in lineage.campaigns]):
            saw_answers("derived", campaign, until=lineage.created_at)
    return LeftOut.objects.filter(lineage__batch=batch)


def rule_called(name: str) -> Rule:
    """Return a rule. Raises DerivationError for an unknown name."""
    if name in RULES:
        return RULES[name]
    hint = did_you_mean(name, RULES, f"choose one of {', '.join(RULES)}")
    raise DerivationError(f"there is no rule {name!r}; {hint}", "rule")


def fitting_rules(batch: Batch, campaigns: Sequence[Campaign]) -> list[tuple[Rule, list[Campaign]]]:
    """Return the rules that can be used on a batch, each with the campaigns that it can read."""
    found = []
    for rule in RULES.values():
        fits = [each for each in campaigns if rule.reads(each)]
        if fits or not rule.protocols:
            found.append((rule, [each for each in fits if each.batch_id == batch.pk]))
    return found


def _campaigns(rule: Rule, order: DerivationRequest) -> list[Campaign]:
    """Return the campaigns that a rule reads. Raises DerivationError if they do not fit."""
    names = list(dict.fromkeys(order.campaigns))
    if not rule.protocols:
        if names:
            raise DerivationError(f"rule {rule.name} reads no campaign; leave --from out", "from")
        return []
    if not names:
        known = " or ".join(rule.protocols)
        raise DerivationError(
            f"rule {rule.name} reads a campaign of {known}; name it with --from", "from"
        )
    return [_campaign(rule, order, name) for name in names]


def _campaign(rule: Rule, order: DerivationRequest, name: str) -> Campaign:
    there = Campaign.objects.all() if order.reader is None else readable(order.reader)
    campaign = there.select_related("batch").filter(name=name).first()
    if campaign is None:
        known = list(there.filter(batch=order.batch).values_list("name", flat=True))
        hint = did_you_mean(name, known, f"there are {', '.join(known) or 'none'}")
        raise DerivationError(f"there is no campaign {name!r} of this batch; {hint}", "from")
    if campaign.batch_id != order.batch.pk:
        raise DerivationError(
            f"campaign {name!r} is over batch {campaign.batch.name!r}, not {order.batch.name!r}; "
            f"give --batch {campaign.batch.name}",
            "from",
        )
    if not rule.reads(campaign) or campaign.options.get("points"):
        fitting = [each.name for each in RULES.values() if each.reads(campaign)]
        hint = f"use {' or '.join(fitting)}" if fitting else UNREAD
        if campaign.options.get("points"):
            hint = "its points belong to reports, which no rule can use"
        raise DerivationError(
            f"rule {rule.name} does not fit campaign {name!r}, which is {campaign.protocol}; "
            f"{hint}",
            "rule",
        )
    return campaign


def _work(
    rule: Rule,
    batch: Batch,
    campaigns: list[Campaign],
    decided_by: str,
    ties: str,
    options: Mapping[str, Any],
) -> Work:
    chosen: Ties | None = next((each for each in TIES if each == ties), None)
    if chosen is None:
        raise DerivationError(f"ties is one of {', '.join(TIES)}, not {ties!r}", "ties")
    rater = find_rater(decided_by, campaigns) if rule.protocols else None
    decider = Decider(decided_by, chosen)
    return rule.work(Job(batch, campaigns, decider, rater, make_options(rule, options)))


def stored_options(rule: Rule, options: Any) -> dict[str, Any]:
    """Return a rule's options as a lineage has them."""
    return {option.name: getattr(options, option.field) for option in rule.declared_options}


def _apply_rule(work: Work, progress: Callable[[int], None]) -> Iterator[rows.Query]:
    done = 0
    for chunk in _chunks(work.job.batch):
        stored = as_rows(chunk)
        work.read(list(stored))
        for pk, query in stored.items():
            done += 1
            made = work.apply(pk, query)
            progress(done)
            if made is not None:
                yield made


def _chunks(batch: Batch) -> Iterator[list[Any]]:
    queries = batch.queries.order_by("position").iterator(chunk_size=QUERIES_AT_ONCE)
    while chunk := list(islice(queries, QUERIES_AT_ONCE)):
        yield chunk


def _check_finished(campaigns: Sequence[Campaign], work: Work) -> None:
    """Refuse a campaign whose items have fewer people's answers than slots. Raises NotDecidedError.

    Units that an adjudicator decided count as answered. So only campaigns with written answers, and
    campaigns that sample units while people work, are checked by items.
    """
    from_answers = work.plural == "sentences"
    for campaign in campaigns:
        if not (from_answers or campaign.options.get("sampling") == "own"):
            continue
        unfinished = unfinished_items(campaign)
        number = unfinished.count()
        if number:
            names = ", ".join(unfinished.values_list("key", flat=True)[:MOST_NAMED])
            more = f" and {number - MOST_NAMED} more" if number > MOST_NAMED else ""
            items = "1 item has" if number == 1 else f"{number} items have"
            raise NotDecidedError(
                f"{campaign.name!r} is not finished: {items} fewer answers than asked "
                f"for ({names}{more}); wait for them, or name a rater who answered all by "
                "--decided-by",
                "decided_by",
            )


def unfinished_items(campaign: Campaign) -> Any:
    """Return the items with fewer answers from people than slots, imported answers included."""
    answers = Assignment.objects.filter(
        item=OuterRef("pk"), rater__kind="human", replicate=0, status="done"
    )
    number = answers.order_by().values("item").annotate(n=Count("rater", distinct=True)).values("n")
    items = campaign.items.filter(use="study").order_by("position")
    return items.filter(quota__gt=Coalesce(Subquery(number), 0))


def read_again(lineage: Lineage) -> tuple[str, Callable[[], UnitDigests]]:
    """Return the state of the labels that a batch is based on, and how to read them again."""
    names = [each["name"] for each in lineage.campaigns]
    campaigns = {each.name: each for each in Campaign.objects.filter(name__in=names)}
    state = [state_of_labels(campaign) for campaign in campaigns.values()]

    def read() -> UnitDigests:
        rule = RULES[lineage.rule]
        found = [campaigns[name] for name in names if name in campaigns]
        mode, ties = lineage.decided_by or ADJUDICATED, lineage.ties or "refuse"
        work = _work(rule, lineage.source, found, mode, ties, lineage.options)
        keys = lineage.source.queries.order_by("position").values_list("pk", flat=True)
        pks = keys.iterator(chunk_size=QUERIES_AT_ONCE)
        while chunk := list(islice(pks, QUERIES_AT_ONCE)):
            work.read(chunk)
        return work.digests

    return sha256(repr(state).encode()).hexdigest()[:32], read


def state_of_labels(campaign: Campaign) -> object:
    """Return a state that changes with each label, since responses never change or disappear."""
    current = Response.objects.filter(current=True, assignment__item__campaign=campaign)
    exclusions = Exclusion.objects.filter(campaign=campaign, undone_at=None)
    return (
        campaign.pk,
        sorted(current.aggregate(n=Count("pk"), newest=Max("pk")).items()),
        sorted(exclusions.values_list("rater", flat=True)),
    )


DERIVATION = "derivation"


def question(order: DerivationRequest, dry_run: bool) -> dict[str, Any]:
    """Return the question of a derivation, for `datasets.work.ask`. It is one person's own."""
    assert order.by is not None
    return {
        "batch": order.batch.pk,
        "name": order.name,
        "rule": order.rule,
        "campaigns": list(order.campaigns),
        "decided_by": order.decided_by,
        "ties": order.ties,
        "options": dict(order.options),
        "user": order.by.pk,
        "dry_run": dry_run,
    }


def campaigns_of(options: Options) -> list[Campaign]:
    """Return the campaigns that decide, by name."""
    return list(Campaign.objects.filter(name__in=options["campaigns"]).order_by("name"))


def state(options: Options) -> Any:
    return list(map(state_of_labels, campaigns_of(options)))


def carry_out(options: Options, progress: Progress) -> Result:
    """Return the counts and the new batch's key, or the reason for a refusal with its field."""
    given = {name: options[name] for name in ("name", "rule", "campaigns", "decided_by", "ties")}
    batch, user = Batch.objects.get(pk=options["batch"]), User.objects.get(pk=options["user"])
    order = DerivationRequest(
        batch=batch, options=options["options"], by=user, reader=user, **given
    )
    queries = batch.counts.get("queries", 0)
    try:
        derived = derive(
            order, dry_run=options["dry_run"], progress=lambda done: progress(done, queries)
        )
    except InputError as error:
        # The error's place is not in a file of the user.
        return _refusal(f"{error.wrong}; {error.remedy}")
    except DerivationError as error:
        return _refusal(str(error), error.field, isinstance(error, NotDecidedError))
    return Result.of(
        {
            "batch": derived.batch.pk if derived.batch else None,
            "queries": derived.queries,
            **derived.tally.as_counts(),
            "facts": derived.tally.facts,
            "first": derived.tally.first_left_out,
        }
    )


def _refusal(why: str, field: str = "", undecided: bool = False) -> Result:
    return Result.of({"refused": named_options(why), "field": field, "undecided": undecided})
