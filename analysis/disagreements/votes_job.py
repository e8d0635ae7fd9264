"""The job that collects all labels of one variable by unit, as the basis of the list."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from cachetools import LRUCache

from analysis.campaigns.report_job import campaign_of, may_see
from analysis.disagreements.votes import VoteTable, votes_of
from annotation.answers.submission import answers_of
from annotation.models import Campaign
from annotation.people.membership import exclusion_reasons
from annotation.trust import roles
from datasets.models import Job
from datasets.work import Kind, Options, Progress, Result, results

VOTES = "disagreements"
FORM = 4
"""The version of the file's form, a part of the question, so that older files are not reused."""
MEDIA_TYPE = "application/octet-stream"
_READ: LRUCache[str, VoteTable] = LRUCache(8)
_LOCK = Lock()


def question(campaign: Campaign, variable: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question of a variable's votes, for `datasets.work.ask`.

    `given` are the filters of the list. Only one by the baseline needs what word overlap says,
    which takes long in a large campaign.
    """
    asked = {"campaign": campaign.pk, "variable": variable, "form": FORM}
    return {**asked, "baseline": True} if given.get("baseline") else asked


def votes_in(job: Job) -> VoteTable:
    """Return the table from a finished job. The newest tables stay in memory. Raises GoneError."""
    name = str(job.result["file"])
    with _LOCK:
        found = _READ.get(name)
    if found is None:
        with results.open_result(job) as file:
            found = VoteTable.from_file(file)
        with _LOCK:
            _READ[name] = found
    return found


def _state(options: Options) -> Any:
    """Return the state that the table depends on.

    It must be cheap, since every page asks for it.
    """
    campaign = campaign_of(options)
    return [
        campaign.created_at.isoformat(),
        answers_of(campaign.name),
        exclusion_reasons(campaign.name),
        roles.state_of(campaign),
    ]


def _carry_out(options: Options, progress: Progress) -> Result:
    campaign, baseline = campaign_of(options), "baseline" in options
    table = votes_of(campaign, options["variable"], baseline)
    return Result([table.as_bytes()], "disagreements.npz", MEDIA_TYPE)


VOTES_KIND = Kind(VOTES, "List of disagreements", _state, _carry_out, may_see, listed=False)
