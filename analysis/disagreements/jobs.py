"""The job that collects everybody's labels of one variable by unit, for the list to choose from."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import Any

from cachetools import LRUCache

from analysis.campaigns.cache import state_of
from analysis.campaigns.jobs import campaign_of, may_see
from analysis.disagreements.votes import Votes, escapes_of, votes_of
from annotation.models import Campaign
from datasets.jobs import Kind, Options, Progress, Result, results
from datasets.models import Job

VOTES = "disagreements"
_READ: LRUCache[str, list[Votes]] = LRUCache(8)
_LOCK = Lock()


def question(campaign: Campaign, variable: str) -> dict[str, Any]:
    """Return the question of a variable's votes, for `datasets.jobs.ask`."""
    return {"campaign": campaign.pk, "variable": variable}


def votes_in(job: Job) -> list[Votes]:
    """Return what a finished job collected; the newest lists stay in memory. Raises GoneError."""
    name = str(job.result["file"])
    with _LOCK:
        found = _READ.get(name)
    if found is None:
        stored = results.value(job)
        read = partial(Votes.from_json, escapes=frozenset(stored["escapes"]))
        found = list(map(read, stored["votes"]))
        with _LOCK:
            _READ[name] = found
    return found


def _state(options: Options) -> Any:
    return state_of(campaign_of(options))


def _carry_out(options: Options, progress: Progress) -> Result:
    campaign, variable = campaign_of(options), options["variable"]
    votes = [each.as_json() for each in votes_of(campaign, variable)]
    return Result.of({"escapes": sorted(escapes_of(campaign, variable)), "votes": votes})


VOTES_KIND = Kind(VOTES, "List of disagreements", _state, _carry_out, may_see, listed=False)
