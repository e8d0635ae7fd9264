"""The option `passages`: which passages a campaign keeps, by what people found them useful for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.campaigns.design import stored_design
from annotation.models import Campaign, Label
from annotation.protocols.units import OR
from datasets import rows

RELEVANT, USE = "relevant", "use"
Uses = Mapping[str, Sequence[str]]
"""The codes of `use` by the id of a passage: the most frequent one, or all that share that rank."""


@dataclass(frozen=True)
class Relevance:
    """The passages of a query that are left, by id in the batch's order, and their uses."""

    passages: list[str]
    uses: Uses


def relevance_of(campaign: Campaign, query: rows.Query) -> Relevance | None:
    """What the option `passages` of a campaign leaves of a query; None where it leaves all.

    `relevant` goes by the batch, `relevant:CAMPAIGN` by most people of that campaign. Labels made
    with a verdict in view count only where there are no others.
    """
    option, _, other = stored_design(campaign.options).passages.partition(":")
    if option == "all":
        return None
    if other:
        return _by_people(Campaign.objects.get(name=other), query)
    kept = [p for p in query.passages if p.relevant]
    uses = {p.id: _use_of(p) for p in kept}
    return Relevance([p.id for p in kept], {key: [use] for key, use in uses.items() if use})


def _use_of(passage: rows.Passage) -> str | None:
    """The batch's own; GaRAGe's reader keeps the release's tag in `meta`."""
    said = passage.use or (passage.meta or {}).get("use")
    return said if said in rows.USES else None


def left_by(query: rows.Query, passages: Collection[str], uses: Uses | None) -> rows.Query:
    """The query with these passages alone, each with its use; several are joined."""
    left, said = set(passages), uses or {}
    kept = tuple(_with_use(p, said.get(p.id)) for p in query.passages if p.id in left)
    return replace(query, passages=kept)


def without_uses(query: rows.Query) -> rows.Query:
    """The query as it is shown where nobody was asked which of its passages are relevant."""
    if not any(p.use for p in query.passages):
        return query
    return replace(query, passages=tuple(_with_use(p, None) for p in query.passages))


def _with_use(passage: rows.Passage, codes: Sequence[str] | None) -> rows.Passage:
    return replace(passage, use=OR.join(codes) if codes else None)


def _by_people(campaign: Campaign, query: rows.Query) -> Relevance:
    said = _labels(campaign, query)
    votes = {key: Counter(values) for key, values in said[RELEVANT].items()}
    kept = [
        p.id
        for p in query.passages
        if (found := votes.get(f"{query.id}/{p.id}")) and found["yes"] > found["no"]
    ]
    uses = {key: said[USE].get(f"{query.id}/{key}") for key in kept}
    return Relevance(kept, {key: _most_frequent(codes) for key, codes in uses.items() if codes})


def _labels(campaign: Campaign, query: rows.Query) -> dict[str, dict[str, list[str]]]:
    """What people said of each passage, by variable and key; the blind labels where there are."""
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


def _most_frequent(codes: list[str]) -> list[str]:
    counted = Counter(codes)
    most = max(counted.values())
    return sorted(code for code, count in counted.items() if count == most)
