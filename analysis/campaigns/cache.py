"""A cache of reports, valid while a campaign's labels and the options stay the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db.models import Count, Max, Q

from analysis.campaigns.reports import campaign_report, newest_look
from annotation.answers.submission import answers_of
from annotation.exposure.ledger import Note, collect_looks, deliver
from annotation.models import Assignment, Campaign, Label
from annotation.people.membership import exclusion_reasons
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.label_validation import source_campaign
from annotation.trust import roles
from datasets.lineage import lineages_of, state_of_labels
from judging.models import JudgeRun
from tandem.labels.selection import ReportOptions
from tandem.types import JSON, Progress, ignore_progress

Publish = Callable[["Computed", bool], None]
"""Shows a part of a report before the rest exists, and whether only its check is missing."""


@dataclass(frozen=True)
class Computed:
    """A report, and the newest response when its computation started.

    `looks` are recorded in the ledger when the report is read.
    """

    report: JSON
    newest: int
    looks: Sequence[Note] = field(default=(), compare=False)


def computed_report(
    campaign: Campaign,
    options: ReportOptions,
    progress: Progress = ignore_progress,
    publish: Publish = lambda part, is_whole: None,
) -> Computed:
    """Return the current report of a campaign, from the cache if nothing has changed."""
    cache = caches["reports"]
    # Responses stored during the computation count as new, although the report may include them.
    newest, key = state_of(campaign, asdict(options))
    found = cache.get(key)
    if found is None:
        with collect_looks() as looks:

            def show(part: JSON, is_whole: bool) -> None:
                publish(Computed(part, newest, looks), is_whole)

            found = campaign_report(campaign, options, progress, show), looks
        cache.set(key, found)
    deliver(found[1])
    return Computed(found[0], newest, found[1])


def labels_since(campaign: Campaign, newest: int) -> int:
    """Count the labels in statistics that are newer than a response."""
    labels = Label.objects.filter(
        response__pk__gt=newest,
        response__current=True,
        response__assignment__item__campaign=campaign,
    )
    counted = labels.exclude(response__assignment__rater__kind="trial")
    return roles.without_certify(counted, campaign).count()


def state_of(campaign: Campaign, *asked: object) -> tuple[int, str]:
    """Return the newest response, and a digest of everything that a report depends on.

    Responses never change, so the number of current ones and the newest of them identify all.
    """
    own = answers_of(campaign.name)
    also = {source_campaign(campaign)}
    if first := prerequisite_of(campaign):
        also.add(first)
    state = [
        settings.TANDEM_VERSION,
        [campaign.pk, campaign.name, campaign.created_at, campaign.human_share, campaign.options],
        own,
        roles.state_of(campaign),
        [answers_of(name) for name in sorted(also - {campaign.name})],
        _unanswered(campaign),
        list(JudgeRun.objects.filter(campaign=campaign).values_list("judge").distinct()),
        [exclusion_reasons(name) for name in (campaign.name, *sorted(also - {campaign.name}))],
        [state_of_labels(each) for each in lineages_of(campaign.batch)],
        _backgrounds(campaign) if campaign.background else None,
        campaign.registered_queries,
        newest_look(campaign),
        *asked,
    ]
    text = json.dumps(state, default=str, sort_keys=True)
    return own["newest"] or 0, sha256(text.encode()).hexdigest()


def _backgrounds(campaign: Campaign) -> list[Any]:
    answered = campaign.backgrounds.aggregate(number=Count("pk"), newest=Max("answered_at"))
    return [campaign.background, answered]


def _unanswered(campaign: Campaign) -> list[tuple[Any, ...]]:
    rows = Assignment.objects.filter(item__campaign=campaign).filter(
        ~Q(status__in=("open", "leased")) | ~Q(missing={})
    )
    counted = rows.order_by().values_list("rater", "status", "reason", "assisted_by")
    return sorted(counted.annotate(number=Count("pk")), key=str)
