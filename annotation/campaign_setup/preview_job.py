"""The job of a preview: the dry run of a design."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from django.conf import settings as site
from django.db.models import Count, Max, Q
from django.utils.dateparse import parse_datetime

from annotation.campaign_setup.dry_run import DryRun, Share, simulate
from annotation.campaign_setup.expected_widths import Assumptions, Expected
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import SETTINGS, CampaignSettings
from annotation.models import Campaign, Response, User
from audit.models import Event
from datasets.models import Batch, Team
from datasets.work import Options, Progress, Result

PREVIEW = "preview"
MOST_ITEMS = 20_000


def question(
    name: str,
    protocol: str,
    batch: Batch,
    design: Design,
    settings: CampaignSettings,
    people: int | None,
    assumptions: Assumptions,
    user: User,
    team: Team,
    continues: str = "",
) -> dict[str, Any]:
    """Return the question of a preview, for `datasets.work.ask`. It is one person's own."""
    deadline = settings.deadline.isoformat() if settings.deadline else None
    unread = dict.fromkeys(each.name for each in SETTINGS if not each.previewed)
    return {
        "name": name,
        "protocol": protocol,
        "batch": batch.pk,
        "design": asdict(design),
        "settings": {**asdict(settings), **unread, "deadline": deadline},
        "people": people,
        "assumptions": asdict(assumptions),
        "user": user.pk,
        "team": team.pk,
        "continues": continues,
    }


def state(options: Options) -> Any:
    """Return what a preview depends on: the existing campaigns and their answers."""
    campaigns = Campaign.objects.aggregate(number=Count("pk"), newest=Max("pk"))
    answers = Response.objects.filter(
        Q(assignment__item__campaign__batch=options["batch"])
        | Q(assignment__item__campaign__name=options["continues"]),
        current=True,
    )
    return [
        site.TANDEM_VERSION,
        Batch.objects.get(pk=options["batch"]).digest,
        campaigns,
        answers.aggregate(number=Count("pk"), newest=Max("pk")),
        Event.objects.filter(event__startswith="campaign.").aggregate(newest=Max("pk")),
    ]


def carry_out(options: Options, progress: Progress) -> Result:
    """Return the dry run, or the error of the design with its field."""
    tuples: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in options["design"].items()
    }
    settings = {**options["settings"]}
    settings["deadline"] = parse_datetime(settings["deadline"]) if settings["deadline"] else None
    try:
        found = simulate(
            options["name"],
            options["protocol"],
            Batch.objects.get(pk=options["batch"]),
            Design(**tuples),
            CampaignSettings(**settings),
            options["people"],
            Assumptions(**options["assumptions"]),
            lambda done: progress(done, 0),
            most=MOST_ITEMS,
            by=User.objects.get(pk=options["user"]),
            team=Team.objects.get(pk=options["team"]),
            continues=options["continues"],
        )
    except DesignError as error:
        return Result.of({"refused": str(error), "field": error.field})
    shares = [share._asdict() for share in found.shares]
    return Result.of({"dry_run": {**asdict(found), "shares": shares}})


def dry_run_of(result: Any) -> DryRun:
    """Return the dry run that a job computed. Raises DesignError if it refused the design."""
    if "refused" in result:
        raise DesignError(result["refused"], result["field"])
    values = dict(result["dry_run"])
    values["shares"] = tuple(Share(**share) for share in values["shares"])
    values["common"] = tuple(values["common"]) if values["common"] else None
    for name in ("kappa", "share", "powered"):
        values[name] = Expected(**values[name]) if values[name] else None
    values["assumptions"] = Assumptions(**values["assumptions"])
    values["noun"] = tuple(values.get("noun", ("unit", "units")))
    return DryRun(**{each.name: values[each.name] for each in fields(DryRun)})
