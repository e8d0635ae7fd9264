"""The floor: what word overlap answers on a campaign's items, shown beside every judge.

The floor is no rater: nobody is asked, no run is created, nothing is stored among labels. It
follows from the batch, the protocol and the campaign's options, none of which ever change. It is
computed once, kept in the cache `floors`, and computed again after that cache was emptied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from django.core.cache import caches
from django.db.models import QuerySet

from annotation.models import Campaign, Item
from annotation.presentation import ForgottenItemError, bring, present, schema, validates_answers
from annotation.protocols.base import name_units
from annotation.protocols.schema import Schema
from datasets.text import sentences
from judging.backends.base import AskedUnit, Facts, Setup
from judging.backends.lexical import VERSION, Lexical, has_rule
from judging.prompts.request import about, answer_of, asked_of

FORM = 1
"""Of what is kept; another number, and it is computed anew."""
AT_ONCE = 100
Place = tuple[str, str, str]
"""An item, and the kind and key of a unit of it."""


@dataclass(frozen=True)
class Floor:
    """The lexical rule's codes by variable and place, and the variables that it says nothing of."""

    codes: Mapping[str, Mapping[Place, str]]
    without_rule: frozenset[str]


def floor_of(campaign: Campaign) -> Floor:
    """The floor of a campaign's study items. Items without a text have no code."""
    asked = schema(campaign)
    key = _key(campaign, asked)
    codes: dict[str, dict[Place, str]] | None = caches["floors"].get(key)
    if codes is None:
        codes = _computed(campaign, asked)
        caches["floors"].set(key, codes)
    ruled = {v.name for v in asked.variables if has_rule(v.codes, v.level, v.kind)}
    return Floor(codes, frozenset(v.name for v in asked.variables) - ruled)


def _key(campaign: Campaign, asked: Schema) -> str:
    """A digest of all that the rule's answers follow from.

    Campaigns over batches of equal rows share them. Sentences of people's earlier answers are
    material of one campaign alone.
    """
    own = [campaign.pk, campaign.created_at] if validates_answers(campaign, asked) else None
    variables = [[v.name, v.kind, v.answers, v.level, dict(v.asked_if)] for v in asked.variables]
    items = _items(campaign).values_list("key", "shown_passages")
    told = [
        FORM,
        VERSION,
        campaign.batch.digest,
        asked.protocol.slug,
        campaign.protocol_version,
        variables,
        list(items),
        own,
    ]
    return sha256(json.dumps(told, default=str).encode()).hexdigest()


def _items(campaign: Campaign) -> QuerySet[Item]:
    return Item.objects.filter(campaign=campaign, use=Item.Use.STUDY).order_by("position")


def _computed(campaign: Campaign, asked: Schema) -> dict[str, dict[Place, str]]:
    rule = Lexical(Setup(split_sentences=sentences))
    ruled = [v for v in asked.variables if has_rule(v.codes, v.level, v.kind)]
    codes: dict[str, dict[Place, str]] = {v.name: {} for v in ruled}
    for item in _loaded(campaign) if ruled else ():
        try:
            facts, places = _facts(item, asked)
        except ForgottenItemError:
            continue
        for name, answer in (rule.answers(facts) if facts.texts else {}).items():
            for variable in codes.keys() & answer.keys():
                if (code := answer[variable]) is not None:
                    codes[variable][places[name]] = code
    return codes


def _loaded(campaign: Campaign) -> Iterator[Item]:
    every = _items(campaign).select_related("query").iterator(chunk_size=AT_ONCE)
    while some := list(islice(every, AT_ONCE)):
        for item in some:
            item.campaign = campaign
        bring(campaign, some)
        yield from some


def _facts(item: Item, asked: Schema) -> tuple[Facts, dict[str, Place]]:
    """What the rule reads of an item, and where each of its units stands."""
    spec = present(item)
    fields = {text.field: n for n, text in reversed(list(enumerate(spec.texts)))}
    named = name_units(spec.units)
    kinds = {unit.kind: asked_of(asked, unit.kind) for unit in spec.units}
    units = tuple(
        AskedUnit(
            name,
            unit.kind,
            unit.text,
            about=about(unit, fields, item.query.key),
            answer=answer_of(unit, fields),
            **kinds[unit.kind],
        )
        for name, unit in named.items()
    )
    texts = tuple(text.text for text in spec.texts)
    places = {name: (item.key, unit.kind, unit.key) for name, unit in named.items()}
    return Facts(item.query.text, texts, units, unit_by_unit=False), places
