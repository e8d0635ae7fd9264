"""The baseline of a campaign: the answers from word overlap on its items, shown beside every judge.

The baseline is not a rater: it has no run, and stores no labels. It follows from the batch, the
protocol and the campaign's options, none of which ever change. It is computed once and kept in the
cache `floors`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

from django.core.cache import caches
from django.db.models import QuerySet

from annotation.models import Campaign, Item
from annotation.presentation import ForgottenItemError, preload, present, schema, validates_answers
from annotation.protocols.schema import CampaignSchema
from datasets.text import sentences
from judging.backends.base import AskedUnit, Facts, Setup
from judging.backends.lexical import VERSION, Lexical, has_rule
from judging.prompts.request import answer_fields, answer_number, text_number
from tandem.protocols.base import Variable, name_units

FORMAT = 1
"""The format of cached baselines. Another number invalidates them."""
CHUNK_SIZE = 100
UnitKey = tuple[str, str, str]
"""An item's key, and the kind and key of one of its units."""


@dataclass(frozen=True)
class Floor:
    """The lexical rule's codes by variable and unit, and the variables to which no rule applies."""

    codes: Mapping[str, Mapping[UnitKey, str]]
    without_rule: frozenset[str]


def get_floor(campaign: Campaign) -> Floor:
    """Return the baseline of a campaign's study items. Items without a text have no code."""
    asked = schema(campaign)
    key = _key(campaign, asked)
    codes: dict[str, dict[UnitKey, str]] | None = caches["floors"].get(key)
    if codes is None:
        codes = _compute_codes(campaign, asked)
        caches["floors"].set(key, codes)
    ruled = {v.name for v in asked.variables if _is_ruled(v)}
    return Floor(codes, frozenset(v.name for v in asked.variables) - ruled)


def _is_ruled(variable: Variable) -> bool:
    return not variable.several and has_rule(variable.codes, variable.level, variable.kind)


def _key(campaign: Campaign, asked: CampaignSchema) -> str:
    """Return a digest of everything that the rule's answers follow from.

    Campaigns over equal batches share a baseline, unless they validate people's earlier answers.
    """
    own: Any = campaign.protocol_file_id
    if validates_answers(campaign, asked):
        own = [campaign.pk, campaign.created_at]
    variables = [[v.name, v.kind, v.answers, v.level, dict(v.asked_if)] for v in asked.variables]
    items = _items(campaign).values_list("key", "shown_passages")
    content = [
        FORMAT,
        VERSION,
        campaign.batch.digest,
        asked.protocol.slug,
        campaign.protocol_version,
        variables,
        list(items),
        own,
    ]
    return sha256(json.dumps(content, default=str).encode()).hexdigest()


def _items(campaign: Campaign) -> QuerySet[Item]:
    return Item.objects.filter(campaign=campaign, use=Item.Use.STUDY).order_by("position")


def _compute_codes(campaign: Campaign, asked: CampaignSchema) -> dict[str, dict[UnitKey, str]]:
    rule = Lexical(Setup(split_sentences=sentences))
    ruled = [v for v in asked.variables if _is_ruled(v)]
    codes: dict[str, dict[UnitKey, str]] = {v.name: {} for v in ruled}
    for item in _load_items(campaign) if ruled else ():
        try:
            facts, places = _facts(item, asked)
        except ForgottenItemError:
            continue
        for name, answer in (rule.answers(facts) if facts.texts else {}).items():
            for variable in codes.keys() & answer.keys():
                if (code := answer[variable]) is not None:
                    codes[variable][places[name]] = code
    return codes


def _load_items(campaign: Campaign) -> Iterator[Item]:
    every = _items(campaign).select_related("query").iterator(chunk_size=CHUNK_SIZE)
    while some := list(islice(every, CHUNK_SIZE)):
        for item in some:
            item.campaign = campaign
        preload(campaign, some)
        yield from some


def _facts(item: Item, asked: CampaignSchema) -> tuple[Facts, dict[str, UnitKey]]:
    """Return the item's facts that the rule reads, and the key of each unit by its name."""
    spec = present(item)
    fields = {text.field: n for n, text in reversed(list(enumerate(spec.texts)))}
    named = name_units(spec.units)
    kinds = {unit.kind: answer_fields(asked, unit.kind) for unit in spec.units}
    units = tuple(
        AskedUnit(
            name,
            unit.kind,
            unit.text,
            about=text_number(unit, fields, item.query.key),
            answer=answer_number(unit, fields),
            **kinds[unit.kind],
        )
        for name, unit in named.items()
    )
    texts = tuple(text.text for text in spec.texts)
    places = {name: (item.key, unit.kind, unit.key) for name, unit in named.items()}
    return Facts(item.query.text, texts, units, unit_by_unit=False), places
