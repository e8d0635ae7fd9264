"""Accounts of `make demo`, and the results that its pages show from the first look on.

Passwords are generated once and kept, so that a second run prints the same ones.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from analysis.attention.checks import CHECKS
from analysis.attention.checks import question as checks_question
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from analysis.disagreements.votes_job import VOTES
from analysis.disagreements.votes_job import question as votes_question
from annotation.models import Campaign, User
from annotation.presentation import schema
from datasets.models import Job
from datasets.work import Options, queue
from datasets.work.execution import carry_out
from judging.kinds import COMPARISON, comparison_question
from tandem.labels.selection import ReportOptions

ROLES = {
    "annotator": "labels reports under My work",
    "researcher": "labels too, and reads batches, campaigns and reports",
    "admin": "reads batches, campaigns and reports",
}


@dataclass(frozen=True)
class Account:
    """A name and a password to print, and what the account may do."""

    name: str
    password: str
    does: str


def make_accounts() -> list[Account]:
    """Create one account for each role; an existing account keeps its password."""
    passwords = _passwords(Path(settings.DATA_DIR) / "demonstration.json")
    for role in ROLES:
        name = f"demo-{role}"
        user, created = User.objects.get_or_create(username=name, defaults={"role": role})
        # A check costs as much as setting it: half a second of hashing.
        if created or not user.check_password(passwords[role]):
            user.set_password(passwords[role])
            user.save()
    return [Account(f"demo-{role}", passwords[role], does) for role, does in ROLES.items()]


def campaigns_with_results() -> list[Campaign]:
    """Return the campaigns that have labels, as those of the demonstration's study."""
    answered = Campaign.objects.filter(items__assignments__responses__current=True)
    return list(answered.distinct().order_by("pk"))


def compute_results(campaign: Campaign) -> int:
    """Compute here what the pages of a campaign show first; return how many results were not yet.

    They are results of jobs like any others, so that pages find them.
    """
    reader = User.objects.get(username="demo-researcher")
    made = 0
    for kind, options, page in _first_questions(campaign):
        asked = queue.find_or_add(kind, options, reader, page, again=True)
        if asked.job.state == Job.State.WAITING:
            _carry_out(queue.lease_now(asked.job))
            made += 1
    return made


def _first_questions(campaign: Campaign) -> Iterator[tuple[str, Options, str]]:
    """Yield the kind and the options of each job behind a campaign's pages, and its page."""
    of, variable = [campaign.pk], schema(campaign).variables[0].name
    yield REPORT, report_question(campaign, ReportOptions()), reverse("results", args=of)
    yield CHECKS, checks_question(campaign), reverse("campaign", args=of)
    yield COMPARISON, comparison_question(campaign), reverse("judges-compared", args=of)
    yield VOTES, votes_question(campaign, variable, {}), reverse("disagreements", args=of)


def _carry_out(job: Job) -> None:
    def renew(done: int, total: int) -> None:
        queue.renew(job, done, total)

    carry_out(job, renew)


def _passwords(path: Path) -> dict[str, str]:
    if not path.exists():
        drawn = {role: secrets.token_urlsafe(12) for role in ROLES}
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            json.dump(drawn, file)
    passwords: dict[str, str] = json.loads(path.read_text("utf-8"))
    return passwords
