"""A matter that needs attention, the declaration of a rule, and the facts that rules read.

Many campaigns take no more queries than one, so a list can show what each needs. Only the brief of
a report is kept, in the cache, since a report's file never changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlencode

from django.core.cache import caches
from django.db.models import Count, Q, Sum
from django.urls import reverse
from django.utils import timezone

from analysis.attention.checks import CHECKS, quiet_value
from analysis.attention.checks import question as checks_question
from analysis.campaigns.report_job import REPORT
from analysis.campaigns.report_job import question as report_question
from annotation.campaigns.answer_totals import AnswerTotals, answer_totals
from annotation.counters import answers, sum_counts
from annotation.models import Assignment, Campaign, Consent, Item, Membership, Rater, Tally
from annotation.progress import with_counts
from datasets.models import Job
from datasets.work import queue, results
from judging.models import JudgeRun
from tandem.labels.selection import ReportOptions
from tandem.sections.brief import BRIEF_VERSION, brief_of
from tandem.types import JSON

Severity = Literal["urgent", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = ("urgent", "warning", "hint")
"""In the order in which matters are listed. Only a hint needs no action."""
Topic = Literal["people", "judges", "labels", "design"]


@dataclass(frozen=True)
class Action:
    """A button: what it does in a word or two, and the page where it is done.

    An action that `changes` something is only for accounts that may change the campaign.
    """

    label: str
    page: str
    args: tuple[object, ...] = ()
    query: Mapping[str, object] = field(default_factory=dict)
    anchor: str = ""
    changes: bool = False

    @property
    def address(self) -> str:
        query = f"?{urlencode(self.query)}" if self.query else ""
        anchor = f"#{self.anchor}" if self.anchor else ""
        return f"{reverse(self.page, args=self.args)}{query}{anchor}"


@dataclass(frozen=True)
class Finding:
    """What a rule finds: how urgent it is, one sentence, and what can be done."""

    severity: Severity
    text: str
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule of the registry.

    A rule that `tells_answers` reveals others' answers, so it is hidden from accounts with an open
    item in the campaign.
    """

    code: str
    topic: Topic
    find: Callable[[Facts], Iterable[Finding]]
    tells_answers: bool = False


@dataclass(frozen=True)
class Matter:
    """A finding and its rule, in the form that pages, the API and the command show."""

    code: str
    topic: Topic
    severity: Severity
    text: str
    actions: tuple[Action, ...]

    @property
    def headline(self) -> str:
        """The first sentence, for a list in which several campaigns stand."""
        first, ends, _ = self.text.partition(". ")
        return f"{first}." if ends else first

    def as_json(self, site: Callable[[str], str]) -> dict[str, Any]:
        """Return the matter as JSON. `site` turns a path into an address."""
        return {
            "code": self.code,
            "topic": self.topic,
            "severity": self.severity,
            "text": self.text,
            "actions": [
                {"name": each.label, "address": site(each.address)} for each in self.actions
            ],
        }


def count(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: 1 slot, 1,200 slots, 2 queries."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


WEEK = timedelta(days=7)
FEW_ITEMS = 1000
"""Up to this many items with imported answers are counted at once; the checks count more."""
DONE = answers(Item.Use.STUDY.value, "done", True)
FAILED = answers(Item.Use.STUDY.value, "failed", False)
RUN_FIELDS = ("campaign", "judge__rater", "lane__paused", "state", "queued", "lease", "failures",
              "most_cost", "cost", "most_tokens", "prompt_tokens", "completion_tokens", "error",
              "started_at", "ended_at")  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """The facts of a campaign at one moment.

    `campaign` has the counts of `with_counts`, with `gold_items`. `runs` has the newest run of each
    judge, and `failed` the number of its missing answers by the judge's name. `report` is the brief
    of the last finished report, from `report_at`, and `checks` the last finished checks; both are
    None before the first. `rater_keys` are the primary keys of the report's raters by name.
    `members` counts the annotators of a named pool, `unconsented` the people with answers whose
    consent is missing or revoked, and `idle` the slots that were reserved a week ago. `is_stuck`
    says that a job waits although no worker is there.
    """

    campaign: Campaign
    now: datetime
    runs: Sequence[JudgeRun] = ()
    failed: Mapping[str, int] = field(default_factory=dict)
    report: JSON | None = None
    report_at: datetime | None = None
    report_job: Job | None = None
    checks: JSON | None = None
    checks_job: Job | None = None
    rater_keys: Mapping[str, int] = field(default_factory=dict)
    members: int = 0
    unconsented: int = 0
    idle: int = 0
    is_stuck: bool = False

    @cached_property
    def places(self) -> AnswerTotals:
        """How many answers people are asked for, and how many exist, imported ones included."""
        campaign: Any = self.campaign
        if not campaign.imported:
            # Each slot is filled by another person, so the number of filled slots is exact.
            return AnswerTotals(campaign.items_total, campaign.places, campaign.places_done)
        if campaign.items_total <= FEW_ITEMS:
            return answer_totals(self.campaign)
        if self.checks is not None:
            return AnswerTotals(**self.checks["places"])
        given = min(campaign.people_done, campaign.places)
        return AnswerTotals(campaign.items_total, campaign.places, given)


def report_of(campaign: Campaign) -> str:
    """Return the job question of a campaign's report with default options."""
    return queue.question_of(REPORT, report_question(campaign, ReportOptions()))


def checks_of(campaign: Campaign) -> str:
    return queue.question_of(CHECKS, checks_question(campaign))


def facts_of(campaigns: Sequence[int]) -> list[Facts]:
    """Return the facts of campaigns by primary key, in the order in which they are given."""
    rows = with_counts(Campaign.objects.filter(pk__in=campaigns)).select_related("team")
    found = {row.pk: row for row in rows.annotate(gold_items=sum_counts("items/gold"))}
    asked = [found[pk] for pk in campaigns if pk in found]
    now = timezone.now()
    runs, failed = _runs(campaigns), _failed(campaigns)
    members, idle = _members(campaigns), _idle(campaigns, now)
    unconsented = _unconsented([each.pk for each in asked if each.consent_version])
    jobs, stuck = _jobs(asked)
    briefs = {each.pk: _brief(jobs.get(report_of(each))) for each in asked}
    keys = _rater_keys(briefs.values())
    made = []
    for each in asked:
        report_job, checks_job = jobs.get(report_of(each)), jobs.get(checks_of(each))
        brief = briefs[each.pk]
        made.append(
            Facts(
                each,
                now,
                runs[each.pk],
                failed[each.pk],
                brief,
                report_job.ended_at if report_job and brief else None,
                report_job,
                quiet_value(checks_job) if checks_job else None,
                checks_job,
                keys,
                members.get(each.pk, 0),
                unconsented.get(each.pk, 0),
                idle.get(each.pk, 0),
                report_of(each) in stuck or checks_of(each) in stuck,
            )
        )
    return made


def _runs(campaigns: Sequence[int]) -> Mapping[int, list[JudgeRun]]:
    """Return the newest run of each judge, by campaign; trials are left out."""
    rows = JudgeRun.objects.filter(campaign__in=campaigns, judge__base=None).order_by("-pk")
    found: Mapping[int, list[JudgeRun]] = defaultdict(list)
    there = set()
    for run in rows.select_related("judge__rater", "lane").only(*RUN_FIELDS):
        if (run.campaign_id, run.judge_id) not in there:
            there.add((run.campaign_id, run.judge_id))
            found[run.campaign_id].append(run)
    return found


def _failed(campaigns: Sequence[int]) -> Mapping[int, dict[str, int]]:
    rows = Tally.objects.filter(
        campaign__in=campaigns, what=FAILED, rater__kind=Rater.Kind.JUDGE
    ).order_by()
    found: Mapping[int, dict[str, int]] = defaultdict(dict)
    counted = rows.values_list("campaign", "rater__name").annotate(n=Sum("number"))
    for campaign, name, number in counted:
        if number:
            found[campaign][name] = number
    return found


def _members(campaigns: Sequence[int]) -> dict[int, int]:
    rows = Membership.objects.filter(
        campaign__in=campaigns, ended_at=None, role=Membership.Role.ANNOTATOR
    )
    return dict(rows.order_by().values_list("campaign").annotate(n=Count("pk")))


def _unconsented(campaigns: Sequence[int]) -> Counter[int]:
    """Count the accounts that answered without a valid consent. Imported raters have none."""
    if not campaigns:
        return Counter()
    rows = Tally.objects.filter(campaign__in=campaigns, what=DONE, rater__user__isnull=False)
    counted = rows.order_by().values_list("campaign", "rater").annotate(n=Sum("number"))
    answered = {(campaign, rater) for campaign, rater, number in counted if number}
    agreed = Consent.objects.filter(text__campaign__in=campaigns, revoked_at=None)
    return Counter(
        campaign for campaign, _ in answered - set(agreed.values_list("text__campaign", "rater"))
    )


def _idle(campaigns: Sequence[int], now: datetime) -> dict[int, int]:
    """Count the slots that were reserved a week ago, without an end, and are still open."""
    rows = Assignment.objects.filter(
        item__campaign__in=campaigns,
        status=Assignment.Status.OPEN,
        slot__isnull=False,
        held_until=None,
        created_at__lt=now - WEEK,
    )
    return dict(rows.order_by().values_list("item__campaign").annotate(n=Count("pk")))


def _jobs(campaigns: Sequence[Campaign]) -> tuple[dict[str, Job], set[str]]:
    """Return each question's last finished job, and the questions that no worker takes up."""
    questions = [of(each) for each in campaigns for of in (report_of, checks_of)]
    rows = Job.objects.filter(question__in=questions)
    last: dict[str, Job] = {}
    for job in results.ready(rows).order_by("pk"):
        if results.has_result(job):
            last[job.question] = job
    old = rows.filter(state=Job.State.WAITING, created_at__lt=timezone.now() - queue.PATIENCE)
    waiting = set(old.values_list("question", flat=True))
    return last, waiting if waiting and not queue.has_worker() else set()


def _brief(job: Job | None) -> JSON | None:
    if job is None:
        return None
    cache, key = caches["reports"], f"brief-{BRIEF_VERSION}-{job.key}"
    found: JSON | None = cache.get(key)
    if found is None and (value := quiet_value(job)) is not None:
        found = {**brief_of(value["report"]), "newest": value["newest"]}
        cache.set(key, found)
    return found


def _rater_keys(briefs: object) -> dict[str, int]:
    names = {name for brief in briefs if brief for name in brief["people"]}  # type: ignore[attr-defined]
    people = Q(kind=Rater.Kind.HUMAN)
    return dict(Rater.objects.filter(people, name__in=names).values_list("name", "pk"))
