"""Which tasks fit a batch: how many units each would ask about, or what the batch lacks.

The parts of a batch are known at once. A job counts the resulting units once per batch, since it
has to create every item of every task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings as site

from annotation.campaign_setup.creation import checked_campaign
from annotation.campaign_setup.items import draft_items
from annotation.campaigns.design import Design, DesignError
from annotation.protocol_files import protocols_of, task_name
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.declared import FileProtocol
from annotation.registry import drafted
from datasets.models import Batch, Team
from datasets.work import Options, Progress, Result
from tandem.document import count

FITS = "fits"
MOST_ITEMS = 20_000
"""The units of a task with more items than this are not counted."""
MADE_FOR = {
    "clapnq": "grounded-answer",
    "crux": "report-coverage",
    "garage": "grounding-relevance",
}
"""By the format of a batch, the task for which its data was published."""
LACKING: Mapping[str, tuple[str, str, str]] = {
    "questions": ("It has no questions.", "Write questions from its passages", "preparation"),
    "key_points": ("It has no key points.", "Write key points from its passages", "preparation"),
    "nuggets": ("It has no nuggets.", "Add a nugget bank", "upload-new"),
    "passages": ("It has no passages.", "Load a batch with passages", "upload-new"),
    "reports": ("It has no reports.", "Add the reports of a system", "upload-new"),
}
"""For each part that a task may need: what the batch lacks, the remedy, and its page."""


@dataclass(frozen=True)
class Fit:
    """A task over a batch. `units` and `items` are None until they are counted.

    `lacks` says why it does not fit, and is empty if it does. The `remedy` is done on
    `page`. `is_more` says that there are more than those counted, `is_first` that the task is
    recommended.
    """

    protocol: Protocol
    items: int | None = None
    units: int | None = None
    is_more: bool = False
    lacks: str = ""
    remedy: str = ""
    page: str = ""
    is_first: bool = False

    @property
    def task(self) -> str:
        """The task's name in the address of a new campaign."""
        return task_name(self.protocol)


def fits_of(
    batch: Batch, team: Team | None, counted: Mapping[str, Sequence[int]] | None
) -> list[Fit]:
    """Return the tasks over a batch: the recommended one, then those that fit, then the others.

    They are those of the site and of `team`. `counted` are the items and units by protocol that a
    job counted, None before it has.
    """
    found = [_fit(batch, protocol, counted) for protocol in _tasks(team)]
    fitting = [fit for fit in found if not fit.lacks]
    made_for = MADE_FOR.get(batch.format, "")
    first = next((fit for fit in fitting if fit.protocol.name == made_for), None)
    first = first or max(fitting, key=lambda fit: len(fit.protocol.needs), default=None)
    order = sorted(found, key=lambda fit: (fit is not first, bool(fit.lacks)))
    return [Fit(**{**vars(fit), "is_first": fit is first}) for fit in order]


def _fit(batch: Batch, protocol: Protocol, counted: Mapping[str, Sequence[int]] | None) -> Fit:
    for need in protocol.needs:
        if batch.counts and not batch.counts.get(need):
            lacks, remedy, page = LACKING[need]
            return Fit(protocol, lacks=lacks, remedy=remedy, page=page)
    if counted is None:
        return Fit(protocol)
    items, units = counted.get(_key(protocol), (0, 0))
    if not units:
        lacks = protocol.lacks or "Nothing in it can be asked about."
        return Fit(protocol, lacks=lacks, remedy="Prepare the batch", page="preparation")
    return Fit(protocol, items, units, items >= MOST_ITEMS)


def question(batch: Batch, team: Team | None) -> dict[str, Any]:
    """Return the question of a count, for `datasets.work.ask`."""
    return {"batch": batch.pk, "team": team.pk if team else None}


def state(options: Options) -> Any:
    batch = Batch.objects.get(pk=options["batch"])
    return [site.TANDEM_VERSION, batch.digest, *map(_key, _tasks(_team(options)))]


def _team(options: Options) -> Team | None:
    return Team.objects.filter(pk=options["team"]).first()


def carry_out(options: Options, progress: Progress) -> Result:
    """Count the items and units of each task that has what it needs."""
    batch, found = Batch.objects.get(pk=options["batch"]), {}
    tasks = _tasks(_team(options))
    for number, protocol in enumerate(tasks):
        progress(number, len(tasks))
        if not batch.counts or all(batch.counts.get(need) for need in protocol.needs):
            found[_key(protocol)] = count_units(batch, protocol)
    return Result.of(found)


def _tasks(team: Team | None) -> list[Protocol]:
    """Return the protocols of the site, and those of a team in their newest versions."""
    return [*PROTOCOLS.values(), *(protocols_of(team) if team else ())]


def _key(protocol: Protocol) -> str:
    return protocol.name if protocol.stored is None else str(protocol.stored)


def fit_of(batch: Batch, protocol: FileProtocol, queries: int | None = None) -> Fit:
    """Return how the protocol of a file, stored or not, fits a batch, counted at once.

    At most the first `queries` are counted.
    """
    lacking = _fit(batch, protocol, None)
    if lacking.lacks:
        return lacking
    with drafted(protocol) as draft:
        return _fit(batch, draft, {_key(draft): count_units(batch, draft, queries)})


def describe_fit(batch: Batch, protocol: FileProtocol, queries: int | None = None) -> str:
    """Say how many units of how many items a protocol would ask, or why it does not fit.

    At most the first `queries` of the batch are counted, and the sentence says so.
    """
    fit = fit_of(batch, protocol, queries)
    if fit.lacks or not fit.items:
        return f"It does not fit {batch.name!r}: {fit.lacks or 'nothing can be asked.'}"
    form = protocol.items
    noun = NOUNS[form.each] if form else ("item",)
    more = "over " if fit.is_more else ""
    units, items = count(fit.units or 0, "unit"), count(fit.items, *noun)
    total = batch.counts.get("queries", 0)
    part = f" in its first {queries:,} queries" if queries and total > queries else ""
    return f"It fits {batch.name!r}: {more}{units} of {items}{part}."


NOUNS = {
    "query": ("query", "queries"),
    "report": ("report",),
    "passage": ("passage",),
    "report-passage": ("report with a passage", "reports with a passage"),
    "key-point": ("key point",),
    "pair": ("pair",),
}


def count_units(batch: Batch, protocol: Protocol, queries: int | None = None) -> tuple[int, int]:
    """Return the items and units that a task has in a batch, up to `MOST_ITEMS` items.

    Only the first `queries` are read, if given.
    """
    items = units = 0
    try:
        campaign = checked_campaign("fits", protocol, batch, Design())
        for drafted in draft_items(campaign, protocol, queries):
            items, units = items + 1, units + len(drafted.spec.units)
            if items >= MOST_ITEMS:
                break
    except DesignError:
        # The form of the campaign explains what is wrong with the ids.
        return items, units
    return items, units
