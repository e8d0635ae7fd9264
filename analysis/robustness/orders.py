"""How often a judge that sees both answers of a pair changes its verdict with the order.

A judge file with the order `both` is asked about each pair twice: replicates 2n and 2n + 1 differ
in the order alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from annotation.models import Campaign, Label
from annotation.presentation import schema
from judging.judge_file.document import file_of
from judging.models import Judge
from judging.runs.ledger import assignments_of
from judging.runs.planning import sample_count
from judging.trial_effects import missing_reasons_in

SWAPPED = {"first": "second", "second": "first"}
"""The answer in the other order from a judge that considers only the position."""


@dataclass(frozen=True)
class BothOrders:
    """The verdicts of one variable in both orders.

    `verdicts` has the verdict in the batch's order and in the reverse order, both in terms of the
    batch's order, with the pair's query. `missing` counts the pairs without one of them, by reason.
    """

    verdicts: list[tuple[str, str, int]] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)

    @property
    def turns(self) -> list[tuple[float, int]]:
        """1 for each pair whose verdict differs between the orders, else 0, with its query."""
        return [(float(one != other), query) for one, other, query in self.verdicts]

    @property
    def same_place(self) -> dict[str, int]:
        """Count the pairs in which the same position, first or second, was preferred both times."""
        habit = Counter(one for one, other, _ in self.verdicts if SWAPPED.get(one) == other)
        return {"first": habit["first"], "second": habit["second"]}


def sees_both_orders(judge: Judge) -> bool:
    """Return whether a judge is asked about each pair in both orders."""
    return bool(judge.file) and file_of(judge).order == "both"


def both_orders(campaign: Campaign, judge: Judge) -> Mapping[str, BothOrders]:
    """Return the verdicts of a judge in both orders, by variable of pairs."""
    variables = [v.name for v in schema(campaign, "judges").variables if v.kind == "pair"]
    said = _verdicts(campaign, judge, variables)
    lost = dict(_missing_verdicts(campaign, judge))
    return {name: _paired(judge, said[name], lost) for name in variables}


Verdicts = Mapping[tuple[int, int], Mapping[int, str]]
"""Verdicts by unit and query, and replicate."""


def _verdicts(campaign: Campaign, judge: Judge, variables: list[str]) -> Mapping[str, Verdicts]:
    found: dict[str, dict[tuple[int, int], dict[int, str]]] = {
        name: defaultdict(dict) for name in variables
    }
    rows = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater=judge.rater_id,
        variable__in=variables,
        unit__kind="pair",
    ).order_by("unit", "response__assignment__replicate")
    names = ("variable", "unit", "unit__item__query", "response__assignment__replicate", "value")
    for variable, unit, query, replicate, value in rows.values_list(*names).iterator(5000):
        found[variable][unit, query][replicate] = value
    return found


def _missing_verdicts(campaign: Campaign, judge: Judge) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the missing reason of each replicate without a verdict."""
    rows, asked = assignments_of(campaign, judge), schema(campaign, "judges")
    for replicate in range(2 * sample_count(judge)):
        for key, why in missing_reasons_in(rows.filter(replicate=replicate), asked).items():
            yield (key.unit, replicate), why


def _paired(judge: Judge, said: Verdicts, lost: Mapping[tuple[int, int], str]) -> BothOrders:
    found = BothOrders()
    queries = dict(said.keys())
    units = sorted(queries.keys() | {unit for unit, _ in lost})
    for unit in units:
        verdicts = said.get((unit, queries.get(unit, 0)), {})
        for n in range(0, 2 * sample_count(judge), 2):
            if n in verdicts and n + 1 in verdicts:
                found.verdicts.append((verdicts[n], verdicts[n + 1], queries[unit]))
            elif why := lost.get((unit, n), lost.get((unit, n + 1))):
                found.missing[why] += 1
    return found
