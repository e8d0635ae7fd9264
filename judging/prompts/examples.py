"""Examples for the messages of a judge file: units of development queries, with people's labels.

They are sampled once per judge and campaign, by the judge's seed, and stored in the manifest of its
first run. So later labels do not change a prompt. No example comes from an evaluation query or from
the query that is asked about. A researcher may choose units for them under *Disagreements*, from
which files with `draw = "chosen"` draw.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.adjudication.disputes import Selection
from annotation.campaigns.sampling import AUDIT, DEVELOPMENT, EVALUATION
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Item, Label, QuerySampling, Rater, Unit, User
from annotation.presentation import schema
from annotation.trust import roles
from audit.recording import record
from judging.backends.base import JSON
from judging.judge_file.document import Examples, file_of
from judging.models import ChosenExample, Judge, JudgeRun

KEY = "examples"
CHOSEN = "chosen"
NOT_FOR_EXAMPLES = {
    EVALUATION: "their queries are for evaluation, on which judges are compared with people",
    AUDIT: "their queries are for the audit, which is left aside",
}
Labels = Mapping[str, str]


class ExamplesError(ValueError):
    """There are too few examples. The message says what is missing and what to do."""


@dataclass(frozen=True)
class Example:
    """A unit of a development query with people's labels, as the manifest keeps it."""

    query: str
    category: str
    unit: str
    item: int
    labels: Labels

    @classmethod
    def of(cls, kept: JSON) -> Example:
        return cls(kept["query"], kept["category"], kept["unit"], kept["item"], kept["labels"])

    def as_json(self) -> JSON:
        return dict(vars(self))


def sample_examples(campaign: Campaign, judge: Judge) -> list[Example] | None:
    """Return the examples of a judge's first run over a campaign, or sample them.

    None if its file asks for none. Raises ExamplesError.
    """
    examples = file_of(judge).examples if judge.file else None
    if examples is None or not examples.k:
        return None
    runs = JudgeRun.objects.filter(campaign=campaign, judge__in=(judge.pk, judge.base_id))
    for manifest in runs.order_by("id").values_list("manifest", flat=True):
        if KEY in manifest:
            found = [Example.of(kept) for kept in manifest[KEY]]
            break
    else:
        found = _draw(campaign, judge, examples)
    saw_answers("prompt", campaign, items={each.item for each in found})
    return found


def _draw(campaign: Campaign, judge: Judge, examples: Examples) -> list[Example]:
    """Sample enough examples to leave `k` for any query, and `k` of its category if possible."""
    reads, is_chosen = file_of(judge).parser.reads, examples.draw == CHOSEN
    only = chosen_units(campaign) if is_chosen else None
    found = sorted(agreed_examples(campaign, reads, only), key=lambda each: _rank(judge, each.unit))
    by_query = Counter(each.query for each in found)
    if len(found) - max(by_query.values(), default=0) < examples.k:
        what = "chosen as examples" if is_chosen else "of development queries"
        who = "there are" if is_chosen else "people have labelled"
        remedy = (
            "choose more under Disagreements, from several queries"
            if is_chosen
            else "give the campaign a development split of several queries, let people label them"
        )
        raise ExamplesError(
            f"judge {judge} shows {examples.k} examples, and {who} "
            f"{len(found)} units {what} in {campaign}; {remedy}, or set k = 0"
        )
    taken: dict[str, Counter[str]] = defaultdict(Counter)
    kept = []
    for example in found:
        groups = [taken[""], taken[example.category]]
        if any(_is_wanted(group, example.query, examples.k) for group in groups):
            kept.append(example)
            for group in groups if example.category else groups[:1]:
                group[example.query] += 1
    return kept


def _is_wanted(taken: Counter[str], query: str, k: int) -> bool:
    """Whether another example of a query is useful, since none is shown with its own query."""
    beside_any = taken.total() - max(taken.values(), default=0)
    return beside_any < k and taken[query] < k


def select_examples(
    examples: Sequence[Example], rule: Examples, query: str, category: str
) -> list[Example]:
    """Return the examples to show with a query: from other queries, those of its category first."""
    others = [each for each in examples if each.query != query]
    if rule.draw == "same-category":
        others.sort(key=lambda each: each.category != category)
    return others[: rule.k]


def agreed_examples(
    campaign: Campaign, reads: Iterable[str], only: Collection[int] | None = None
) -> list[Example]:
    """Return the units of development queries on whose labels most people agree.

    `only` restricts them to units whose labels an adjudicator may also have decided.
    """
    draws = QuerySampling.objects.filter(campaign=campaign, role=DEVELOPMENT).values("query")
    labels = Label.objects.filter(
        unit__item__campaign=campaign,
        unit__item__query__in=draws,
        response__current=True,
        response__assignment__rater__kind=Rater.Kind.HUMAN,
    )
    labels = roles.without_certify(labels, campaign)
    names = set(reads) or {variable.name for variable in schema(campaign, "judges").variables}
    votes: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    labels = labels if only is None else labels.filter(unit__in=list(only))
    for unit, variable, value in labels.values_list("unit", "variable", "value"):
        if variable in names:
            votes[unit][variable][value] += 1
    for unit, variable, value in _adjudicated_labels(only or (), names):
        if unit in votes:
            votes[unit][variable] = Counter({value: 1})
    units = Unit.objects.filter(pk__in=votes).select_related("item__query").order_by("pk")
    return [
        Example(unit.item.query.key, category_of(unit.item), unit.name, unit.item_id, agreed)
        for unit in units
        if (agreed := _majority_labels(votes[unit.pk]))
    ]


def _adjudicated_labels(
    units: Collection[int], variables: Collection[str]
) -> list[tuple[int, str, str]]:
    rows = Label.objects.filter(
        unit__in=list(units),
        variable__in=list(variables),
        response__current=True,
        response__decision__isnull=False,
    )
    return list(rows.values_list("unit", "variable", "value"))


def chosen_units(campaign: Campaign) -> set[int]:
    """Return the units (primary keys) that researchers chose as examples."""
    rows = ChosenExample.objects.filter(unit__item__campaign=campaign)
    return set(rows.order_by().values_list("unit", flat=True))


def selectable_units(campaign: Campaign, units: Collection[int]) -> Selection:
    """Return the units that can be examples: from development queries, with an agreed label."""
    drawn = dict(QuerySampling.objects.filter(campaign=campaign).values_list("query", "role"))
    rows = Unit.objects.filter(pk__in=list(units), item__campaign=campaign).order_by()
    split = {
        pk: drawn.get(query, EVALUATION) for pk, query in rows.values_list("pk", "item__query")
    }
    agreed = {(each.item, each.unit) for each in agreed_examples(campaign, (), units)}
    named = {pk: (item, name) for pk, item, name in rows.values_list("pk", "item_id", "name")}
    before, certify = chosen_units(campaign), roles.certify_units(campaign, units)
    reasons = {}
    for unit in units:
        if unit not in split:
            reasons[unit] = "they are not of this campaign"
        elif unit in certify:
            reasons[unit] = roles.REASON
        elif split[unit] != DEVELOPMENT:
            reasons[unit] = NOT_FOR_EXAMPLES[split[unit]]
        elif unit in before:
            reasons[unit] = "they are examples already"
        elif named[unit] not in agreed:
            reasons[unit] = "people do not agree on their label, and nobody decided"
    return Selection.of(units, reasons)


def choose_examples(campaign: Campaign, units: Collection[int], by: User | None) -> int:
    """Choose units as examples, and return how many.

    Units that `selectable_units` does not return are left out.
    """
    with transaction.atomic():
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        found = selectable_units(campaign, units).units
        ChosenExample.objects.bulk_create(ChosenExample(unit_id=unit, by=by) for unit in found)
        if found:
            record("examples.chosen", campaign.pk, campaign, units=len(found))
    return len(found)


def _majority_labels(votes: Mapping[str, Counter[str]]) -> Labels:
    """Return the most frequent code of each variable, nothing where two are as frequent."""
    found = {}
    for variable, counts in votes.items():
        (code, most), *others = counts.most_common(2)
        if others and others[0][1] == most:
            return {}
        found[variable] = code
    return found


def category_of(item: Item) -> str:
    category = (item.query.meta or {}).get("category")
    return category if isinstance(category, str) else ""


def _rank(judge: Judge, unit: str) -> str:
    seed = judge.params.get("seed", 0)
    return hashlib.sha256(f"{seed}\0{unit}".encode("utf-8", "surrogatepass")).hexdigest()


def as_values(example: Example, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example's values for templates: the parts of its unit, and its labels."""
    parts = ("query", "question", "passage", "report", "key_point", "sentence", "unit")
    label = next(iter(example.labels.values())) if len(example.labels) == 1 else ""
    named = {name: shown[name] for name in parts if name in shown}
    return {**named, "labels": dict(example.labels), "label": label}
