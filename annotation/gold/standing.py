"""How everybody did on the known answers of a campaign, in four queries.

What `annotation.gold.scoring` says of one person at a time, for pages of all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from django.db.models import QuerySet

from annotation.gold.scoring import Score
from annotation.models import Assignment, Campaign, Item, KnownAnswer, Label


def standings(campaign: Campaign, use: str, raters: Collection[int]) -> dict[int, Score]:
    """Scores on the gold, or the practice, items by the raters' keys; the first answer counts."""
    items = Item.objects.filter(campaign=campaign, use=use)
    of = items.count()
    if not of:
        return {}
    done = Assignment.objects.filter(
        item__in=items,
        rater__in=raters,
        replicate=0,
        scope="",
        status=Assignment.Status.DONE,
    )
    known, said = _known(items), _said(done)
    answered: Mapping[int, list[tuple[int, int]]] = defaultdict(list)
    for pk, rater, item, asked in done.values_list("pk", "rater", "item", "asked"):
        names = set(asked)
        checked = [
            said.get((pk, unit, variable)) == value
            for name, unit, variable, value in known[item]
            if name in names
        ]
        answered[rater].append((sum(checked), len(checked)))
    return {
        rater: Score(len(each), of, sum(right for right, _ in each), sum(n for _, n in each))
        for rater, each in answered.items()
    }


def _known(items: QuerySet[Item]) -> Mapping[int, list[tuple[str, int, str, str]]]:
    found: Mapping[int, list[tuple[str, int, str, str]]] = defaultdict(list)
    rows = KnownAnswer.objects.filter(unit__item__in=items).order_by("pk")
    columns = ("unit__item", "unit__name", "unit", "variable", "value")
    for item, name, unit, variable, value in rows.values_list(*columns):
        found[item].append((name, unit, variable, value))
    return found


def _said(done: QuerySet[Assignment]) -> dict[tuple[int, int, str], str]:
    labels = Label.objects.filter(response__assignment__in=done, response__revision=1)
    rows = labels.order_by().values_list("response__assignment", "unit", "variable", "value")
    return {(pk, unit, variable): value for pk, unit, variable, value in rows}
