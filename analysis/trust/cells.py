"""A judge's verdicts on the cells of a campaign: the units of one variable, query by query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Assignment, Campaign, Item, Label, QuerySampling, Rater, Unit
from annotation.presentation import schema_for
from judging.models import JudgeRun
from tandem.labels.probabilities import probabilities_of
from tandem.protocols.base import Variable
from tandem.similar import did_you_mean
from tandem.statistics import Bools, Floats, Ints
from tandem.trust.canonical import digest_of

LABELLED, DEVELOPMENT, NOT_ASKED = (
    "people were asked about them before the plan",
    "they are for development",
    "they have no cell of the variable",
)
NO_VERDICT = -1


class TrustError(ValueError):
    """A plan or a look is refused. The message says why and what to do."""


@dataclass(frozen=True)
class Cells:
    """The cells of a plan's queries, and a judge's verdicts on them.

    `queries` are the keys and `pks` the primary keys of the queries. By cell (N,): `query` is the
    number of its query, `unit` its primary key, `verdict` the judge's code (-1 = none), `sure` how
    sure the judge is (NaN = no verdict), and `system` the number of the report's system in
    `systems` (-1 = none). `codes` are the variable's categories, then its escapes. `digest` covers
    every verdict with its sureness. `excluded` counts the queries that are left out, by reason.
    """

    queries: tuple[str, ...]
    pks: tuple[int, ...]
    query: Ints
    unit: Ints
    verdict: Ints
    sure: Floats
    system: Ints
    systems: tuple[str, ...]
    codes: tuple[str, ...]
    categories: int
    digest: str
    excluded: Mapping[str, int]

    def is_of(self, system: str) -> Bools:
        """Return which cells are of a system, (N,)."""
        number = self.systems.index(system) if system in self.systems else len(self.systems)
        return np.asarray(self.system == number)

    def by_query(self, mask: Bools) -> Ints:
        """Count the cells of a mask (N,) by query, (G,)."""
        return np.bincount(self.query[mask], minlength=len(self.queries)).astype(np.int64)


def variables_of(campaign: Campaign) -> dict[str, Variable]:
    """Return the variables whose verdicts are right or wrong, because one code is chosen."""
    asked = schema_for(campaign, "judge").variables
    return {each.name: each for each in asked if not (each.several or each.scale)}


def judges_of(campaign: Campaign) -> dict[str, Rater]:
    """Return by name the judges that have answered items of a campaign."""
    judges = Rater.objects.filter(kind="judge", assignments__item__campaign=campaign).distinct()
    return {judge.name: judge for judge in judges.order_by("name")}


def variable_of(campaign: Campaign, name: str) -> Variable:
    """Return a variable whose cells a judge can decide. Raises TrustError."""
    found = variables_of(campaign)
    if name not in found:
        other = did_you_mean(name, found, f"it has {', '.join(found) or 'none'}")
        raise TrustError(f"no variable {name!r} of one code in {campaign}: {other}")
    return found[name]


def judge_of(campaign: Campaign, name: str) -> Rater:
    """Return a judge that has answered items of the campaign. Raises TrustError."""
    found = judges_of(campaign)
    if name not in found:
        other = did_you_mean(name, found, f"{', '.join(found) or 'nobody'} did")
        raise TrustError(f"no judge {name!r} has answered items of {campaign}: {other}")
    return found[name]


def read_cells(
    campaign: Campaign, variable: Variable, judge: Rater, queries: Collection[str] | None = None
) -> Cells:
    """Return the cells of the queries that a plan may draw, or of these `queries`.

    A plan may draw queries about which no person was asked yet, and that are not for development.
    """
    units = Unit.objects.filter(item__campaign=campaign, item__use=Item.Use.STUDY)
    rows = list(
        units.filter(kind=variable.kind)
        .order_by("item__query__position", "item__position", "position")
        .values_list(
            "pk", "key", "item__key", "item__query", "item__query__key", "item__report__system"
        )
    )
    keys = {query: key for _, _, _, query, key, _ in rows}
    if queries is None:
        keys, excluded = population(campaign, keys)
    else:
        wanted, excluded = set(queries), {}
        keys = {pk: key for pk, key in keys.items() if key in wanted}
    number = {query: n for n, query in enumerate(keys)}
    rows = [row for row in rows if row[3] in number]
    systems = sorted({system for *_, system in rows if system})
    verdict, sure, digest = _verdicts(campaign, variable, judge, rows)
    return Cells(
        queries=tuple(keys.values()),
        pks=tuple(keys),
        query=np.array([number[row[3]] for row in rows], dtype=np.int64),
        unit=np.array([row[0] for row in rows], dtype=np.int64),
        verdict=verdict,
        sure=sure,
        system=np.array([systems.index(row[5]) if row[5] else -1 for row in rows], dtype=np.int64),
        systems=tuple(systems),
        codes=variable.answers,
        categories=len(variable.codes),
        digest=digest,
        excluded=excluded,
    )


def population(
    campaign: Campaign, keys: Mapping[int, str]
) -> tuple[dict[int, str], dict[str, int]]:
    """Return which of these queries (keys by primary key) may be drawn, and how many may not, why.

    Queries of the campaign that are not among them are counted as `NOT_ASKED`.
    """
    people = Assignment.objects.filter(item__campaign=campaign, rater__kind=Rater.Kind.HUMAN)
    asked = set(people.values_list("item__query", flat=True))
    splits = QuerySampling.objects.filter(campaign=campaign, role="development")
    development = set(splits.values_list("query", flat=True))
    every = set(campaign.items.filter(use=Item.Use.STUDY).values_list("query", flat=True))
    kept = {pk: key for pk, key in keys.items() if pk not in asked and pk not in development}
    counts = {
        LABELLED: len(every & asked),
        DEVELOPMENT: len((every & development) - asked),
        NOT_ASKED: len(every - set(keys) - asked - development),
    }
    return kept, {reason: number for reason, number in counts.items() if number}


def _verdicts(
    campaign: Campaign, variable: Variable, judge: Rater, rows: list[tuple[Any, ...]]
) -> tuple[Ints, Floats, str]:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge,
        response__assignment__replicate=0,
        variable=variable.name,
    )
    given = {
        unit: (value, score, meta)
        for unit, value, score, meta in labels.order_by().values_list(
            "unit", "value", "score", "meta"
        )
    }
    code = {name: n for n, name in enumerate(variable.codes)}
    verdict = np.full(len(rows), NO_VERDICT, dtype=np.int64)
    sure = np.full(len(rows), np.nan)
    covered = []
    for n, (unit, key, item, _, query, _) in enumerate(rows):
        value, score, meta = given.get(unit, ("", None, None))
        known = sureness(len(code), score, meta) if value in code else None
        if known is not None:
            verdict[n], sure[n] = code[value], known
        covered.append([query, item, key, value, known])
    return verdict, sure, digest_of(covered)


def sureness(categories: int, score: float | None, meta: Any) -> float:
    """Return how sure a judge is of its verdict: its greatest probability; 1 where it gives none.

    The score of a variable with two categories is the probability of one of them.
    """
    if found := probabilities_of(meta):
        return max(found.values()) / sum(found.values())
    if score is not None and categories == 2 and 0 <= score <= 1:
        return max(score, 1 - score)
    return 1.0


def identity_of(campaign: Campaign, judge: Rater) -> dict[str, Any]:
    """Return what identifies a judge: its prompt's digest, its model, and the server's fingerprint.

    They are those of its newest run over the campaign; None where labels were imported.
    """
    run = JudgeRun.objects.filter(campaign=campaign, judge__rater=judge).order_by("-id").first()
    manifest = run.manifest if run else {}
    return {
        "name": judge.name,
        "prompt": manifest.get("prompt", {}).get("sha256"),
        "model": manifest.get("judge", {}).get("model"),
        "fingerprint": manifest.get("fingerprint"),
    }
