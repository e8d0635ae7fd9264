"""Nugget banks for TREC's tools: the nuggets of the batch, with their importance by labels.

The importance is the one that an adjudicator decided, or else the majority of people's labels of
`importance`, those first that confirm no judge's. Where labels decide nothing, it is the batch's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from annotation.exports.rows import label_rows
from annotation.models import Campaign
from datasets.material import batch_rows
from datasets.models import Nugget
from tandem.files import rows

Line = dict[str, object]
IMPORTANCE, KIND = "importance", "nugget"
FORMAT_VERSION = "v3"


def has_nuggets(campaign: Campaign) -> bool:
    return Nugget.objects.filter(batch=campaign.batch_id).exists()


def nugget_bank(campaign: Campaign) -> Iterator[Line]:
    """Yield the bank of each query that has nuggets, in the AutoJudge kit's form of version 3.

    A nugget is a claim, whose id is `claim_id`. The form is that of `NuggetBank` in
    trec-auto-judge/auto-judge-base. Its claims stand under their text.
    """
    for query, nuggets in _banks(campaign):
        claims: dict[str, Line] = {}
        for nugget, importance in nuggets:
            key = nugget.text if nugget.text not in claims else f"{nugget.text} [{nugget.id}]"
            claim: Line = {"claim": nugget.text, "claim_id": nugget.id, "query_id": query.id}
            if importance:
                claim[IMPORTANCE] = importance
            if nugget.sources:
                claim["references"] = [{"doc_id": each} for each in nugget.sources]
            claims[key] = claim
        yield {
            "query_id": query.id,
            "title_query": query.text,
            "format_version": FORMAT_VERSION,
            "claim_bank": claims,
        }


def nuggetizer_bank(campaign: Campaign) -> Iterator[Line]:
    """Yield the same banks in AutoNuggetizer's form, which the kit reads, too, with our own ids."""
    for query, nuggets in _banks(campaign):
        yield {
            "query": query.text,
            "qid": query.id,
            "nuggets": [_nugget(nugget, importance) for nugget, importance in nuggets],
        }


def _nugget(nugget: rows.Nugget, importance: str | None) -> Line:
    line: Line = {"id": nugget.id, "text": nugget.text}
    if importance:
        line[IMPORTANCE] = importance
    if nugget.sources:
        line["sources"] = list(nugget.sources)
    return line


def _banks(
    campaign: Campaign,
) -> Iterator[tuple[rows.Query, list[tuple[rows.Nugget, str | None]]]]:
    decided = _importance(campaign)
    for query in batch_rows(campaign.batch, ("nuggets",)):
        if query.nuggets:
            yield query, [(each, decided.get(each.id) or each.importance) for each in query.nuggets]


def _importance(campaign: Campaign) -> dict[str, str]:
    """Return the decided importance by nugget. A tie decides nothing."""
    decided: dict[str, str] = {}
    votes: dict[str, tuple[Counter[str], Counter[str]]]
    votes = defaultdict(lambda: (Counter(), Counter()))
    for row in label_rows(campaign):
        if row.kind != KIND or row.variable != IMPORTANCE or not row.value:
            continue
        if row.rater_kind == "reference":
            decided[row.unit] = row.value
        elif row.rater_kind == "human":
            votes[row.unit][bool(row.assisted_by)][row.value] += 1
    for nugget, (blind, assisted) in votes.items():
        (first, most), *others = (blind or assisted).most_common(2)
        if not others or others[0][1] < most:
            decided.setdefault(nugget, first)
    return decided
