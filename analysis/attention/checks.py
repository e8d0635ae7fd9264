"""The job of a campaign's checks: disagreements, disputes, people's flags, answers by guideline.

They read all labels, so a worker computes them, and pages show the last results.
"""

from __future__ import annotations

from typing import Any

from analysis.campaigns.cache import state_of
from analysis.campaigns.report_job import campaign_of, may_see
from analysis.disagreements.choose import count_disagreements
from analysis.monitoring.flags import quality
from annotation.adjudication.disputes import adjudicated_labels, decided_units, disputes
from annotation.campaigns.answer_totals import answer_totals
from annotation.models import Campaign, Decision
from annotation.progress.counts import answers_by_guideline
from audit.looks import collect_looks
from datasets.models import Job
from datasets.work import Kind, Options, Progress, Result, queue, results
from tandem.types import JSON

CHECKS = "checks"
FORM = 3
"""The version of a result's parts: raised if these change, so that older results are replaced.
"""


def question(campaign: Campaign | int) -> dict[str, Any]:
    """Return the question of a campaign's checks, for `datasets.work.ask`."""
    return {"campaign": campaign.pk if isinstance(campaign, Campaign) else campaign}


def check_campaign(campaign: Campaign) -> JSON:
    """Check a campaign.

    `units` are those that people labelled. `disagreements` counts those of each variable, and
    `disputes` the units that an adjudicator has to decide or has decided. `flags` are quality flags
    by person, without labels; excluded people have none. `guidelines` counts people's answers by
    guideline version; None is the protocol's own guideline. `places` are the answers that the
    design asks people for, imported ones included.
    """
    done, found = decided_units(campaign), disputes(adjudicated_labels(campaign))
    open_ones, people = sum(each.unit not in done for each in found), quality(campaign)
    return {
        "units": people.units,
        "disagreements": {name: of.as_json() for name, of in count_disagreements(campaign).items()},
        "disputes": {"open": open_ones, "decided": len(found) - open_ones},
        "flags": [
            {"code": flag.code, "rater": flag.rater, "name": flag.name, "variable": flag.variable}
            for flag in people.hints
            # An excluded person needs no further attention.
            if flag.rater not in people.excluded
        ],
        "guidelines": _guidelines(campaign),
        "places": answer_totals(campaign)._asdict(),
    }


def _guidelines(campaign: Campaign) -> list[JSON]:
    """Count answers by version.

    The protocol's own guideline (None) comes first; it is not a version.
    """
    versions = list(campaign.guidelines.exclude(digest="").order_by("version"))
    if not versions:
        return []
    answers = answers_by_guideline(campaign)
    rows: list[JSON] = [
        {"version": each.version, "digest": each.digest, "answers": answers.pop(each.digest, 0)}
        for each in versions
    ]
    own: JSON = {"version": None, "digest": "", "answers": sum(answers.values())}
    return [row for row in (own, *rows) if row["answers"]]


def _state(options: Options) -> Any:
    campaign = campaign_of(options)
    decisions = Decision.objects.filter(unit__item__campaign=campaign, response__current=True)
    versions = campaign.guidelines.order_by("-version").values_list("version", flat=True)
    newest = decisions.order_by("-pk").values_list("pk", flat=True)
    return [FORM, state_of(campaign), decisions.count(), newest.first(), versions.first()]


def _carry_out(options: Options, progress: Progress) -> Result:
    return Result.of(check_campaign(campaign_of(options)))


CHECKS_KIND = Kind(CHECKS, "Checks", _state, _carry_out, may_see, listed=False)


def last_checks(campaign: Campaign) -> JSON | None:
    """Return a campaign's last finished checks. Callers record the look in the ledger."""
    job = queue.last_finished(queue.question_of(CHECKS, question(campaign)))
    return quiet_value(job) if job else None


def quiet_value(job: Job) -> JSON | None:
    """Return a job's result without recording its looks. None if its file no longer exists.

    Code that shows only a part of a result records that part.
    """
    with collect_looks():
        try:
            found: JSON = results.value(job)
        except results.GoneError:
            return None
    return found
