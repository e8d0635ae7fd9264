"""The option `passages`: which passages a campaign keeps, and the uses that people assigned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.campaigns.design import stored_design
from annotation.models import Campaign, Label
from annotation.protocols.base import OR
from tandem.files import rows

RELEVANT, USE = "relevant", "use"
Uses = Mapping[str, Sequence[str]]
"""The most frequent code of `use` by the id of a passage, or all codes in case of a tie."""


@dataclass(frozen=True)
class Relevance:
    """The passages of a query that are kept, by id in the batch's order, and their uses."""

    passages: list[str]
    uses: Uses


def relevance_of(campaign: Campaign, query: rows.Query) -> Relevance | None:
    """Return what the option `passages` of a campaign keeps of a query, or None if it keeps all.

    `relevant` uses the batch, and `relevant:CAMPAIGN` the majority of people in that campaign.
    Labels that confirm or correct a judge's label count only if there are no others.
    """
    option, _, other = stored_design(campaign.options).passages.partition(":")
    if option == "all":
        return None
    if other:
        return _by_people(Campaign.objects.get(name=other), query)
    kept = [p for p in query.passages if p.relevant]
    uses = {p.id: _batch_use(p) for p in kept}
    return Relevance([p.id for p in kept], {key: [use] for key, use in uses.items() if use})


def _batch_use(passage: rows.Passage) -> str | None:
    """Return the use from the batch. The reader for GaRAGe keeps the release's tag in `meta`."""
    use = passage.use or (passage.meta or {}).get("use")
    return use if use in rows.USES else None


def keep_passages(query: rows.Query, passages: Collection[str], uses: Uses | None) -> rows.Query:
    """Return the query with only these passages, each with its uses, joined to one string."""
    ids, codes = set(passages), uses or {}
    kept = tuple(_with_use(p, codes.get(p.id)) for p in query.passages if p.id in ids)
    return replace(query, passages=kept)


def without_uses(query: rows.Query) -> rows.Query:
    """Return the query without uses, for campaigns that keep all passages."""
    if not any(p.use for p in query.passages):
        return query
    return replace(query, passages=tuple(_with_use(p, None) for p in query.passages))


def _with_use(passage: rows.Passage, codes: Sequence[str] | None) -> rows.Passage:
    return replace(passage, use=OR.join(codes) if codes else None)


def _by_people(campaign: Campaign, query: rows.Query) -> Relevance:
    labels = _labels(campaign, query)
    votes = {key: Counter(values) for key, values in labels[RELEVANT].items()}
    kept = [
        p.id
        for p in query.passages
        if (found := votes.get(f"{query.id}/{p.id}")) and found["yes"] > found["no"]
    ]
    uses = {key: labels[USE].get(f"{query.id}/{key}") for key in kept}
    return Relevance(kept, {key: _modes(codes) for key, codes in uses.items() if codes})


def _labels(campaign: Campaign, query: rows.Query) -> dict[str, dict[str, list[str]]]:
    """Return people's labels for each passage, by variable and key, preferring blind labels."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__query__key=query.id,
        response__assignment__rater__kind="human",
        variable__in=(RELEVANT, USE),
    )
    columns = ("variable", "unit__key", "value", "response__assignment__assisted_by")
    found: dict[str, dict[str, tuple[list[str], list[str]]]] = {RELEVANT: {}, USE: {}}
    for variable, key, value, assisted in labels.order_by("pk").values_list(*columns):
        found[variable].setdefault(key, ([], []))[bool(assisted)].append(value)
    return {
        variable: {key: blind or assisted for key, (blind, assisted) in by_key.items()}
        for variable, by_key in found.items()
    }


def _modes(codes: list[str]) -> list[str]:
    counted = Counter(codes)
    most = max(counted.values())
    return sorted(code for code, count in counted.items() if count == most)
