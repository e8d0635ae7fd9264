"""How often a judge repeats its label of a unit: over replicates, and over both orders.

With the order `both` in its file, a judge is asked about each pair twice: replicates 2n and 2n + 1
differ only in the order. All others repeat the same request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, groupby

import numpy as np

from annotation.models import Campaign, Label, Rater
from judging.judge_file.document import file_of
from judging.models import Judge
from tandem.statistics import SHARE, mean_by_cluster
from tandem.types import JSON

REPLICATES, ORDERS = "replicates", "orders"
WORDS = {
    REPLICATES: "share of pairs of replicates with the same label",
    ORDERS: "share of pairs with the same verdict in both orders",
}
PairCounts = dict[tuple[str, str, str], list[tuple[float, int]]]
"""By variable, judge and kind: 1 for each pair of equal labels of a unit, else 0, and the query."""


def add_consistency(report: JSON, counts: PairCounts) -> None:
    """Add `consistency` to the judges of a campaign's report that were asked more than once."""
    for (variable, judge, kind), pairs in counts.items():
        of = report["variables"].get(variable, {}).get("judges", {}).get(judge)
        if of is None:
            continue
        values = np.array([same for same, _ in pairs])
        queries = np.array([query for _, query in pairs])
        found = mean_by_cluster(values, queries, WORDS[kind], SHARE)
        of.setdefault("consistency", {})[kind] = found.as_json()


def pair_counts(campaign: Campaign) -> PairCounts:
    """Compare every pair of labels that a judge gave to a unit and variable."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
    )
    repeated = labels.filter(response__assignment__replicate__gt=0)
    judges = list(repeated.values_list("response__assignment__rater", flat=True).distinct())
    if not judges:
        return {}
    both = {
        judge.rater_id
        for judge in Judge.objects.filter(rater__in=judges)
        if _asks_both_orders(judge)
    }
    rows = labels.filter(response__assignment__rater__in=judges).order_by(
        "response__assignment__rater", "variable", "unit", "response__assignment__replicate"
    )
    names = (
        "response__assignment__rater", "response__assignment__rater__name", "variable", "unit",
        "unit__item__query", "response__assignment__replicate", "value",
    )  # fmt: skip
    found: PairCounts = defaultdict(list)
    read = rows.values_list(*names).iterator(5000)
    for (rater, name, variable, _, query), of_unit in groupby(read, key=lambda row: row[:5]):
        values = {replicate: value for *_, replicate, value in of_unit}
        for kind, same in _compare_replicates(values, rater in both):
            found[variable, name, kind].append((float(same), query))
    return found


def _asks_both_orders(judge: Judge) -> bool:
    return bool(judge.file) and file_of(judge).order == "both"


def _compare_replicates(
    values: Mapping[int, str], in_both_orders: bool
) -> Iterator[tuple[str, bool]]:
    """Yield how the requests for each pair of a unit's labels differ, and if labels are equal."""
    for one, other in combinations(sorted(values), 2):
        same = values[one] == values[other]
        if not in_both_orders or one % 2 == other % 2:
            yield REPLICATES, same
        elif one // 2 == other // 2:
            yield ORDERS, same
