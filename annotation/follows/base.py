"""What a protocol says of a campaign that follows another. Data, not behaviour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Q

from annotation.models import Campaign, Item, Rater

Ready = Callable[[Campaign, Rater], Q]
ReadyForJudges = Callable[[Campaign], Q]
Asks = Callable[[Item, Rater, list[str]], list[str]]
AsksJudges = Callable[[Item, list[str]], list[str]]
Words = Callable[[Campaign], str]


def anything(campaign: Campaign) -> Q:
    return Q()


def every_unit(item: Item, rater: Rater, names: list[str]) -> list[str]:
    return names


def every_unit_of_judges(item: Item, names: list[str]) -> list[str]:
    return names


def until_done(campaign: Campaign) -> str:
    return f"{prerequisite_of(campaign)} to be done"


@dataclass(frozen=True)
class Follows:
    """How campaigns of a protocol follow another campaign, their prerequisite.

    `after` are the protocols that the prerequisite may have. `ready(campaign, rater)` selects the
    items that this person may be given now, `judges(campaign)` those that judges may. Once an item
    is ready, `asks(item, rater, names)` are the units that the person is asked, of the item's
    `names` and in their order, and `asks_judges(item, names)` those of judges. It may store a draw
    in `Item.drawn`, if whoever comes second finds what the first one stored. `draws(campaign)` says
    whether fewer units than an item has may be asked. `words(campaign)` end the sentence
    "waits for …".
    """

    after: tuple[str, ...]
    ready: Ready
    asks: Asks = every_unit
    judges: ReadyForJudges = anything
    asks_judges: AsksJudges = every_unit_of_judges
    words: Words = until_done
    draws: Callable[[Campaign], bool] = lambda campaign: False


@dataclass(frozen=True)
class Wait:
    """One reason for items to wait: which of them do, and the words behind "waits for …"."""

    holds: Ready
    words: Words


def prerequisite_of(campaign: Campaign) -> str:
    """The name of the campaign that this one follows, or nothing."""
    return str(campaign.options.get("prerequisite") or "")
