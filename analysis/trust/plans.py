"""Commit to a plan, draw its queries, and end it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
from django.db import transaction

from analysis.trust.cells import Cells, TrustError, identity_of, judge_of, read_cells, variable_of
from analysis.trust.counted import cells_of_draws
from analysis.trust.options import PlanOptions
from annotation.campaign_setup.replay import slots_of_design
from annotation.models import (
    Campaign,
    Rater,
    TrustDraw,
    TrustEnd,
    TrustPlan,
    UnitSampling,
)
from annotation.trust import draws
from annotation.trust.roles import running
from audit.recording import record
from datasets.models import Query
from tandem.document import count, join_words
from tandem.trust.canonical import digest_of
from tandem.trust.plan import CutTable, plan_of
from tandem.trust.systems import PART, split
from tandem.trust.truth import FEWEST

FORM = "tandem-trust-plan/1"
FEWEST_QUERIES = 20


def commit(campaign: Campaign, options: PlanOptions) -> TrustPlan:
    """Store a plan before its first label, and ask people about none of its queries yet.

    Raises TrustError.
    """
    variable, judge = variable_of(campaign, options.variable), judge_of(campaign, options.judge)
    people = people_of(options, campaign.raters_per_item)
    with one_at_a_time(campaign):
        cells = read_cells(campaign, variable, judge)
        number = 1 + plans_before(campaign, TrustPlan.Kind.CERTIFY, options.variable, judge)
        document = commitment(campaign, cells, options, people, number)
        plan = TrustPlan.objects.create(
            campaign=campaign,
            kind=TrustPlan.Kind.CERTIFY,
            variable=options.variable,
            judge=judge,
            number=number,
            document=document,
            digest=digest_of(document),
        )
        draws.hold_back(plan, cells.pks)
        record("trust.planned", campaign.pk, plan, after=document, digest=plan.digest)
    return plan


def people_of(options: PlanOptions, of_campaign: int) -> int:
    """Return how many people answer each drawn query. Raises TrustError if they are too few."""
    people = of_campaign if options.people is None else options.people
    if people < FEWEST[options.truth]:
        few = count(FEWEST[options.truth], "person", "people")
        raise TrustError(
            f"{options.truth} needs at least {few} on each query, and not {people}: say --people "
            "or --truth"
        )
    return people


@contextmanager
def one_at_a_time(campaign: Campaign) -> Iterator[None]:
    """Commit to a plan in one transaction. Raises TrustError if the campaign cannot have one."""
    with transaction.atomic():
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        if plan := running(campaign):
            raise TrustError(
                f"a plan of {campaign} is running ({plan.digest[:12]}): end it first, and the "
                "next one gets a part of what is left of δ"
            )
        if UnitSampling.objects.filter(item__campaign=campaign).exclude(kind="all").exists():
            raise TrustError(
                f"{campaign} asks people only a sample of each query's units, and a plan has every "
                "cell of a drawn query answered: make a campaign that asks all of them"
            )
        yield


def plans_before(campaign: Campaign, kind: str, variable: str, judge: Rater | None) -> int:
    """Count the plans for one population, judge and variable, also under other campaigns' names."""
    plans = TrustPlan.objects.filter(kind=kind, variable=variable, judge=judge)
    return plans.filter(campaign__batch=campaign.batch).count()


def commitment(
    campaign: Campaign, cells: Cells, options: PlanOptions, people: int, number: int
) -> dict[str, Any]:
    """Return the document of a plan, with a new seed. Raises TrustError."""
    check_enough(cells.queries, cells.excluded)
    table = CutTable.of(cells.sure, cells.query, len(cells.queries), options.cut_shares)
    if not table.thresholds:
        raise TrustError(
            f"{options.judge} has given no verdict on {options.variable} in these queries"
        )
    sizes = np.bincount(cells.query, minlength=len(cells.queries))
    of_statement, by_system = _levels(cells, table, options, number)
    return {
        "format": FORM,
        "kind": "certify",
        "campaign": campaign.name,
        "variable": options.variable,
        "judge": identity_of(campaign, judge_of(campaign, options.judge)),
        "batch": campaign.batch.digest,
        "verdicts": cells.digest,
        "population": {
            "queries": list(cells.queries),
            "cells": sizes.tolist(),
            "excluded": dict(cells.excluded),
        },
        "cuts": [
            {"share": share, "threshold": least}
            for least, share in zip(
                table.thresholds, (table.accepted.sum(axis=0) / sizes.sum()).tolist(), strict=True
            )
        ],
        "accepted": table.accepted.tolist(),
        "systems": _shares_of_systems(cells, table),
        "risk": options.risk,
        "delta": options.delta,
        "level": of_statement,
        "number": number,
        "truth": options.truth,
        "people": people,
        "late_days": options.late_days,
        "form": options.form,
        **({"k": options.k} if options.form == "cells" else {}),
        **by_system,
        # Everything above is fixed before the seed is known.
        "seed": secrets.token_hex(16),
    }


def _levels(
    cells: Cells, table: CutTable, options: PlanOptions, number: int
) -> tuple[float, dict[str, Any]]:
    """Return the level of the statement, and what a plan says of bounds by system, if it has any.

    Raises TrustError if there are no systems to be told apart.
    """
    if not options.by_system:
        return split(options.delta, number)[0], {}
    if len(cells.systems) < 2:
        raise TrustError(
            f"bounds by system need cells of several systems, and these are of "
            f"{join_words(cells.systems) or 'none'}: commit without --by-system"
        )
    bounds = len(cells.systems) * len(table.thresholds)
    of_statement, of_bound = split(options.delta, number, PART, bounds)
    accepted = {
        system: np.stack(
            [
                cells.by_query(cells.is_of(system) & (cells.sure >= least))
                for least in table.thresholds
            ],
            axis=1,
        ).tolist()
        for system in cells.systems
    }
    return of_statement, {"by_system": {"part": PART, "level": of_bound, "accepted": accepted}}


def check_enough(queries: Sequence[str], excluded: Mapping[str, int]) -> None:
    """Raise TrustError if too few queries can be drawn. `excluded` counts others by reason."""
    if len(queries) < FEWEST_QUERIES:
        left = "; ".join(f"{n} are left out: {why}" for why, n in excluded.items())
        raise TrustError(
            f"{count(len(queries), 'query', 'queries')} can be drawn, and a plan needs "
            f"{FEWEST_QUERIES}{f' ({left})' if left else ''}"
        )


def _shares_of_systems(cells: Cells, table: CutTable) -> dict[str, list[float]]:
    """Return the share of each system's cells that each cut accepts."""
    found = {}
    for n, system in enumerate(cells.systems):
        own = cells.sure[cells.system == n]
        found[system] = [float((own >= least).mean()) for least in table.thresholds]
    return found


def draw(plan: TrustPlan, order: Sequence[int], cut: int, wanted: int) -> list[TrustDraw]:
    """Ask people about the next queries of the order, given by number, that are not drawn yet.

    Raises TrustError if the plan has ended.
    """
    if not plan.is_running:
        raise TrustError("the plan has ended: commit to another one")
    keys = plan.document["population"]["queries"]
    with transaction.atomic():
        Campaign.objects.select_for_update().get(pk=plan.campaign_id)
        drawn = set(plan.draws.values_list("query__key", flat=True))
        new = [keys[query] for query in order if keys[query] not in drawn][:wanted]
        rows = {
            query.key: query
            for query in Query.objects.filter(batch=plan.campaign.batch, key__in=new)
        }
        fresh = [draws.Drawn(rows[key]) for key in new]
        return draws.release(plan, fresh, cut, plan.document["people"])


def draw_cells(plan: TrustPlan, cells: Cells, wanted: int) -> list[TrustDraw]:
    """Draw so many times more from a plan of the form `cells`, and ask people about the items.

    Raises TrustError if the plan has ended, or if the judge's verdicts have changed.
    """
    if not plan.is_running:
        raise TrustError("the plan has ended: commit to another one")
    with transaction.atomic():
        Campaign.objects.select_for_update().get(pk=plan.campaign_id)
        given = cells_of_draws(plan, plan_of(plan.document), cells, plan.draws.count() + 1)
        rows = Query.objects.in_bulk(cells.pks)
        drawn = [
            draws.Drawn(rows[cells.pks[query]], tuple(cells.unit[places].tolist()))
            for query, places in islice(given, wanted)
        ]
        return draws.release(plan, drawn, 0, plan.document["people"])


def end(plan: TrustPlan, reason: str = "") -> TrustEnd:
    """End a plan: its labels may be read like all others, and people are asked as before it.

    Raises TrustError if it has ended.
    """
    if not plan.is_running:
        raise TrustError("the plan has ended already")
    with transaction.atomic():
        made = TrustEnd.objects.create(plan=plan, reason=reason)
        draws.free(plan, slots_of_design(plan.campaign))
        record("trust.ended", plan.campaign_id, plan, after=reason)
    return made
