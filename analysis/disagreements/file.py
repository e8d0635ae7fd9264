"""The job that writes listed units as CSV, with a column for each rater."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count, Max

from analysis.campaigns.report_job import campaign_of
from analysis.disagreements.actions import tags_of
from analysis.disagreements.listing import FILTER_HELP, UnitList
from analysis.disagreements.votes import votes_of
from analysis.disagreements.votes_job import VOTES_KIND
from analysis.disagreements.votes_job import question as votes_question
from analysis.models import UnitTag
from annotation.access import may_read
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Unit, User
from annotation.people.membership import may_manage
from datasets.work import Kind, Options, Progress, Result
from tandem.files.spreadsheet import write_rows

LISTED, LOOK = "disagreements-file", "disagreements"
CHUNK = 1000


def question(campaign: Campaign, variable: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the question of the file. `given` are the filters of the list."""
    filters = {name: given[name] for name in sorted(FILTER_HELP) if given.get(name)}
    return {**votes_question(campaign, variable, filters), "given": filters}


def _state(options: Options) -> Any:
    tags = UnitTag.objects.filter(unit__item__campaign=options["campaign"])
    return [VOTES_KIND.state(options), tags.aggregate(number=Count("pk"), newest=Max("changed_at"))]


def _carry_out(options: Options, progress: Progress) -> Result:
    campaign, variable = campaign_of(options), options["variable"]
    table = votes_of(campaign, variable, "baseline" in options)
    listed = UnitList(options["given"], campaign, variable, table)
    saw_answers(LOOK, campaign, units=listed.units)
    raters = listed.table.names_of(listed.found)
    labels = (f"label of {name}" for name in raters)
    columns = ("item", "unit", "query", "system", "variable", "majority", *labels, "tag", "note")
    lines = write_rows(columns, _lines(listed, progress))
    name = f"disagreements-{campaign.pk}.csv"
    return Result((line.encode() for line in lines), name, "text/csv; charset=utf-8")


def _lines(listed: UnitList, progress: Progress) -> Iterator[Mapping[str, object]]:
    for start in range(0, len(listed.found), CHUNK):
        progress(start, len(listed.found))
        part = list(map(listed.table.votes, listed.found[start : start + CHUNK]))
        units = Unit.objects.select_related("item__query").in_bulk([each.unit for each in part])
        tags = tags_of(units, listed.variable)
        for votes in part:
            row, made = units[votes.unit], tags.get(votes.unit)
            yield {
                "item": row.item.key,
                "unit": row.key,
                "query": row.item.query.key,
                "system": votes.system,
                "variable": listed.variable,
                "majority": votes.majority or "",
                **{f"label of {who}": said for who, said in votes.people.items()},
                **{f"label of {who}": said for who, said in votes.judges.items()},
                "tag": made.tag if made else "",
                "note": made.note if made else "",
            }


def _may_see(user: User, options: Options) -> bool:
    managed = may_manage(user, options["campaign"])
    return managed and may_read(user, options["campaign"])


FILE_KIND = Kind(LISTED, "List of units", _state, _carry_out, _may_see)
