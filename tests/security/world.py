"""The crawler's study, in which every rater has answered, and the objects that addresses name."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.campaigns.report_job import question
from analysis.campaigns.reports import campaign_report
from analysis.drafts.tag_groups import begin
from analysis.frozen.store import freeze
from analysis.models import Draft, FrozenReport, StudyPart
from analysis.models import Study as Study_
from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import (
    Assignment,
    Campaign,
    Invitation,
    ProlificStudy,
    ProtocolFile,
    Rater,
    Unit,
    User,
)
from annotation.people.invitations import invite
from annotation.preparation.steps.questions import CRITERIA
from annotation.protocol_files import store
from annotation.registry import STEPS
from datasets.api_tokens import tokens_of
from datasets.models import Batch, Job, JobAsker, Query, Question, Report, Team, Upload
from judging.models import Judge, JudgeCall, JudgeRun
from judging.preparation.status import campaign_for
from tandem.labels.selection import ReportOptions
from tandem.protocols.protocol_file import read_protocol
from tests.api.cast import script_of
from tests.page_cast import Study, make_study, payload, plant
from tests.security.routes import Route
from tests.security.rules import ADMIN, ANNOTATOR, ANONYMOUS, OTHER, READERS, RESEARCHER, ROLES
from tests.team_cast import move_to_own_team

# An annotator never sees these: others' and judges' answers, judges' names, systems' names.
HIDDEN = ("planted-judge", "planted-comment", "planted-draft", "planted-note", "hidden-system")
NO_NUMBERS = (0, 999_999, 10**30)
CSRF = "x" * 32
PROTOCOL = """
name = "clarity"
version = "1"
title = "Clarity"
item = { each = "report", shows = ["report"] }
guideline = { en = "Read the report." }

[[variable]]
name = "clear"
unit = "report"
question = "Is it clear?"
codes = ["no", "yes"]
"""


@dataclass
class World:
    study: Study
    olga: User
    users: Mapping[str, User]
    own: Mapping[str, list[Assignment]]
    closed: Campaign
    clients: dict[str, Client] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, Mapping[str, Objects]] = field(default_factory=dict)
    found: dict[tuple[Provider, str], Objects] = field(default_factory=dict)


@dataclass(frozen=True)
class Objects:
    """Values of one argument: those that a role may open, and those that give it 404."""

    own: tuple[object, ...]
    foreign: tuple[object, ...] = ()
    missing: tuple[object, ...] = ()


def make_world() -> World:
    """Create the study: Ada, Ben, Rita and a judge have each answered an item.

    Ada and Ben have an open item as well; Rita has none, since she could not read others' answers.
    """
    study = make_study(people=3)
    first = study.assignment(study.ada)
    submit(first, payload("no", "what Ada said herself"), "page")
    study.assignment(study.ada)
    _define_judge(study, plant(study)[-1])
    submit(study.assignment(study.rita), payload("no", "planted-comment-of-rita"), "page")
    users = {ANNOTATOR: study.ada, OTHER: study.ben, RESEARCHER: study.rita, ADMIN: study.root}
    batch = study.campaign.batch
    freeze(
        study.campaign, campaign_report(study.campaign, ReportOptions(resamples=2)), "", study.rita
    )
    begin(study.campaign, None, "Quote what is missing, too.", "", study.rita)
    design = Design(raters_per_item=1)
    closed = create_campaign("Closed", "report-coverage", batch, design, pool="open").campaign
    Campaign.objects.filter(pk=closed.pk).update(is_open=False)
    _invite(study)
    _declare(study.campaign.batch.team)
    _prepare(study.campaign.batch, study.rita)
    olga = _create_other_team(study)
    for campaign in (study.campaign, Campaign.objects.get(name="Named")):
        _create_study_of(campaign)
    own = {role: list(_work(user)) for role, user in users.items()}
    for reader in (study.rita, study.root, olga):
        Upload.objects.create(user=reader, name="hidden-system upload", state="ready")
        _create_failed_job(study.campaign, reader)
    world = World(study, olga, users, {**own, ANONYMOUS: []}, closed)
    for role in ROLES:
        enter(world, role)
        world.clients[role].get(reverse("who"))  # stores when the session began
    return world


def _create_failed_job(campaign: Campaign, reader: User) -> None:
    """Create a failed job for a report that the reader requested."""
    options = question(campaign, ReportOptions(seed=reader.pk))
    job = Job.objects.create(
        kind="report", options=options, question=f"{reader.pk:064}", digest="0" * 64, state="failed"
    )
    JobAsker.objects.create(job=job, user=reader, address="/campaigns/")


def _create_study_of(campaign: Campaign) -> None:
    """Create a study that contains the campaign."""
    made = Study_.objects.create(name=f"study of {campaign.name}", text="", sha256="")
    StudyPart.objects.create(study=made, kind="campaign", name=campaign.name, campaign=campaign)


def _invite(study: Study) -> None:
    """Create an invitation to the site, one to the campaign, and its study on Prolific."""
    invite("annotator", note="planted-note", by=study.root)
    invite("annotator", study.campaign, by=study.rita)
    ProlificStudy.objects.create(
        campaign=study.campaign, study_id="s", completion_code="C", most_people=2
    )


def _create_other_team(study: Study) -> User:
    """Create Olga's team, with a batch, a campaign, a run, a snapshot, a judge and a step."""
    olga = User.objects.create(username="olga", role="researcher")
    team = move_to_own_team(olga, name="others")
    _declare(team)
    batch = Batch.objects.create(name="quay", format="native", digest="1" * 64, team=team)
    query = Query.objects.create(batch=batch, key="q", position=0, text="What of the quay?")
    Question.objects.create(batch=batch, query=query, key="q:0", position=0, text="Is it long?")
    Report.objects.create(batch=batch, query=query, key="r", position=0, text="It is.", system="s")
    named = create_campaign(
        "Named", "report-coverage", batch, Design(raters_per_item=1), by=olga, team=team
    ).campaign
    invite("annotator", named, note="planted-note", by=olga)
    rater = Rater.objects.create(name="others' judge", kind="judge")
    judge = Judge.objects.create(rater=rater, backend="lexical", team=team, made_by=olga)
    item = named.items.get()
    asked = list(item.units.values_list("name", flat=True))
    row = Assignment.objects.create(item=item, rater=rater, asked=asked)
    _called(JudgeRun.objects.create(campaign=named, judge=judge, prompt_sha256="0" * 64), row)
    freeze(named, campaign_report(named, ReportOptions(resamples=2)), "", olga)
    _prepare(batch, olga, judge)
    return olga


def _declare(team: Team) -> None:
    """Store a protocol for a team, of the same name for both teams."""
    store(read_protocol(PROTOCOL, "own.toml"), team)


def planted() -> Judge:
    """Return the judge of the study's team."""
    return Judge.objects.exclude(team__name="others").earliest("pk")


def _define_judge(study: Study, row: Assignment) -> None:
    """Give the planted judge a definition, a run and a call."""
    judge = Judge.objects.create(rater=row.rater, backend="lexical", prompt="planted-judge's own")
    _called(
        JudgeRun.objects.create(campaign=study.campaign, judge=judge, prompt_sha256="0" * 64), row
    )


def _called(run: JudgeRun, row: Assignment) -> None:
    JudgeCall.objects.create(
        run=run,
        assignment=row,
        attempt=1,
        request_hash="0" * 64,
        state="answered",
        completion="planted-judge says no",
        sent_at=timezone.now(),
        seconds=0.1,
    )


def _prepare(batch: Batch, by: User, author: Judge | None = None) -> None:
    """Begin a preparation step for a batch, and have the judge answer in it."""
    item = campaign_for(batch, STEPS["questions"], by).items.get()
    codes = dict.fromkeys(CRITERIA, "yes") | {"kind": "factual", "category": "society"}
    row = Assignment.objects.create(item=item, rater=(author or planted()).rater, asked=["q"])
    submit(row, {"units": {"q": codes}, "comment": "planted-judge"}, "judge")


def enter(world: World, role: str) -> None:
    """Give a role a browser with a session, and a token."""
    client = world.clients[role] = Client(enforce_csrf_checks=True)
    client.raise_request_exception = False
    client.cookies["csrftoken"] = CSRF
    if role != ANONYMOUS:
        client.force_login(world.users[role])
        world.tokens[role] = script_of(world.users[role]).token


def renewed(world: World) -> World:
    """Return a copy of the world whose browsers and rows no other test has changed.

    The database undoes a test's changes, but not those to Python objects.
    """
    clients = {}
    for role, client in world.clients.items():
        clients[role] = copy(client)
        clients[role].cookies = deepcopy(client.cookies)
    rows = {name: getattr(world, name) for name in ("study", "olga", "users", "own", "closed")}
    return replace(world, clients=clients, tokens=dict(world.tokens), **deepcopy(rows))


def _work(user: User) -> list[Assignment]:
    return list(Assignment.objects.filter(rater__user=user).order_by("pk"))


def _assignments(world: World, role: str) -> Objects:
    own = tuple(a.uid for a in world.own[role])
    others = Assignment.objects.exclude(uid__in=own)
    return Objects(own, tuple(a.uid for a in others), (uuid.UUID(int=1),))


def _campaigns(world: World, role: str) -> Objects:
    mine, named = (world.study.campaign.pk, world.closed.pk), (_named(),)
    if role == ADMIN:
        return Objects((*mine, *named), missing=NO_NUMBERS)
    return Objects(mine, named, NO_NUMBERS)


def _named() -> int:
    """Return the key of the campaign of Olga's team, which has no other members."""
    return Campaign.objects.get(name="Named").pk


def _labelled_campaigns(world: World, role: str) -> Objects:
    return Objects((world.study.campaign.pk,), missing=(world.closed.pk, *NO_NUMBERS))


def _adjudicated(world: World, role: str) -> Objects:
    """No account here is an adjudicator."""
    return Objects((), (world.study.campaign.pk, world.closed.pk, _named()), NO_NUMBERS)


def _labelled_units(world: World, role: str) -> Objects:
    there = Unit.objects.filter(item__campaign=world.study.campaign).order_by("pk")
    return Objects(tuple(there.values_list("pk", flat=True)[:3]), missing=NO_NUMBERS)


def _drafts(world: World, role: str) -> Objects:
    mine = Draft.objects.filter(campaign=world.study.campaign)
    return Objects(tuple(mine.values_list("pk", flat=True)), missing=NO_NUMBERS)


def _units(world: World, role: str) -> Objects:
    there = Unit.objects.filter(item__campaign=world.study.campaign).order_by("pk")
    return Objects((), tuple(there.values_list("pk", flat=True)[:2]), NO_NUMBERS)


def _open_campaigns(world: World, role: str) -> Objects:
    """A closed campaign is hidden from people who did not answer in it."""
    return Objects((world.study.campaign.pk,), (world.closed.pk, _named()), NO_NUMBERS)


def _prolific(world: World, role: str) -> Objects:
    return Objects((world.study.campaign.pk,), missing=(world.closed.pk, *NO_NUMBERS))


def _people(world: World, role: str) -> Objects:
    return Objects(tuple(User.objects.values_list("pk", flat=True)), missing=NO_NUMBERS)


def _invitations(world: World, role: str) -> Objects:
    to_site, to_study, others = Invitation.objects.order_by("pk").values_list("pk", flat=True)
    if role == ADMIN:
        return Objects((to_site, to_study, others), missing=NO_NUMBERS)
    return Objects((to_study,), (to_site, others), NO_NUMBERS)


def _raters(world: World, role: str) -> Objects:
    there = Assignment.objects.filter(item__campaign=world.study.campaign)
    return Objects(tuple(there.values_list("rater", flat=True).distinct()), missing=NO_NUMBERS)


def _people_asked(world: World, role: str) -> Objects:
    """Judges are not people, though they have assignments too."""
    there = Assignment.objects.filter(item__campaign=world.study.campaign)
    people = there.filter(rater__kind="human").values_list("rater", flat=True).distinct()
    judges = there.filter(rater__kind="judge").values_list("rater", flat=True).distinct()
    return Objects(tuple(people), missing=(*judges, *NO_NUMBERS))


def _visible_campaigns(world: World, role: str) -> Objects:
    if role in READERS:
        return _campaigns(world, role)
    return _open_campaigns(world, role)


def _positions(world: World, role: str) -> Objects:
    return Objects((0,), missing=(999_999, 10**30))


def _figures(world: World, role: str) -> Objects:
    return Objects(("coverage",), missing=("nothing",))


def _figure_forms(world: World, role: str) -> Objects:
    return Objects(("csv",), missing=("gif",))


def _exports(world: World, role: str) -> Objects:
    return Objects(("label-studio",), missing=("qrels", "nothing"))


def _forms(world: World, role: str) -> Objects:
    return Objects(("json",), missing=("csv", "nothing"))


def _batches(world: World, role: str) -> Objects:
    mine, others = world.study.campaign.batch_id, Batch.objects.get(team__name="others").pk
    if role == ADMIN:
        return Objects((mine, others), missing=NO_NUMBERS)
    return Objects((mine,), (others,), NO_NUMBERS)


def _teams(world: World, role: str) -> Objects:
    others = Team.objects.get(name="others").pk
    mine = Team.objects.exclude(pk=others).get().pk
    if role == ADMIN:
        return Objects((mine, others), missing=NO_NUMBERS)
    return Objects((mine,), (others,), NO_NUMBERS)


def _protocols(world: World, role: str) -> Objects:
    others = ProtocolFile.objects.get(team__name="others").uid
    mine = ProtocolFile.objects.exclude(uid=others).get().uid
    if role == ADMIN:
        return Objects((mine, others), missing=(uuid.UUID(int=1),))
    return Objects((mine,), (others,), (uuid.UUID(int=1),))


def _uploads(world: World, role: str) -> Objects:
    """Each reader has an upload, which nobody else may open."""
    keys = {who: Upload.objects.get(user=world.users[who]).key for who in READERS}
    others = tuple(key for who, key in keys.items() if who != role)
    others = (*others, Upload.objects.get(user=world.olga).key)
    return Objects((keys[role],) if role in keys else (), others, ("0" * 32, "nothing"))


def _jobs(world: World, role: str) -> Objects:
    """Each reader has a job, which nobody else may open."""
    keys = {who: Job.objects.get(askers__user=world.users[who]).key for who in READERS}
    others = tuple(key for who, key in keys.items() if who != role)
    return Objects((keys[role],) if role in keys else (), others, ("0" * 32, "nothing"))


def _tokens(world: World, role: str) -> Objects:
    """Each account has a token."""
    grants = {who: tokens_of(user).first() for who, user in world.users.items()}
    keys = {who: grant.pk for who, grant in grants.items() if grant}
    others = tuple(pk for who, pk in keys.items() if who != role)
    return Objects((keys[role],) if role in keys else (), others, NO_NUMBERS)


def _steps(world: World, role: str) -> Objects:
    return Objects(("questions",), missing=("nothing",))


def _authored(world: World, role: str) -> Objects:
    """Answers of authors: in Rita's preparation step, and in one of another team."""
    there = Assignment.objects.filter(item__campaign__protocol="prepare-questions")
    mine = there.filter(item__campaign__batch=world.study.campaign.batch)
    own = tuple((there if role == ADMIN else mine).values_list("uid", flat=True))
    others = tuple(there.exclude(uid__in=own).values_list("uid", flat=True))
    return Objects(own, others, (uuid.UUID(int=1),))


def _judges(world: World, role: str) -> Objects:
    mine = planted().pk
    others = tuple(Judge.objects.exclude(pk=mine).values_list("pk", flat=True))
    if role == ADMIN:
        return Objects((mine, *others), missing=NO_NUMBERS)
    return Objects((mine,), others, NO_NUMBERS)


def _judges_asked(world: World, role: str) -> Objects:
    mine = planted().pk
    others = tuple(Judge.objects.exclude(pk=mine).values_list("pk", flat=True))
    return Objects((mine,), missing=(*others, *NO_NUMBERS))


def _library(world: World, role: str) -> Objects:
    return Objects(("graded-relevance",), missing=("nothing",))


def _runs(world: World, role: str) -> Objects:
    return _studies(role, dict(JudgeRun.objects.values_list("pk", "campaign__name")))


def _calls(world: World, role: str) -> Objects:
    return _studies(role, dict(JudgeCall.objects.values_list("pk", "run__campaign__name")))


def _frozen(world: World, role: str) -> Objects:
    found = _studies(role, dict(FrozenReport.objects.values_list("key", "campaign__name")))
    return replace(found, missing=("0" * 16, "nothing-of-the-kind"))


def _paper_studies(world: World, role: str) -> Objects:
    """The study of each campaign, with a paper's tables."""
    rows = StudyPart.objects.filter(kind="campaign").values_list("study_id", "campaign__name")
    return _studies(role, dict(rows))


def _papers(world: World, role: str) -> Objects:
    return Objects(("crux",), missing=("nothing",))


def _files(world: World, role: str) -> Objects:
    return Objects(("md",), missing=("exe",))


def _studies(role: str, rows: Mapping[object, str]) -> Objects:
    """Split objects by their campaign's name: only an admin may open those of Olga's campaign."""
    if role == ADMIN:
        return Objects(tuple(rows), missing=NO_NUMBERS)
    named = tuple(pk for pk, name in rows.items() if name == "Named")
    return Objects(tuple(pk for pk in rows if pk not in named), named, NO_NUMBERS)


Provider = Callable[[World, str], Objects]
ARGUMENTS: dict[str, Provider] = {"uid": _assignments}
ROUTES: dict[tuple[str, str], Provider] = {
    ("take-next", "pk"): _open_campaigns,
    ("finished", "pk"): _open_campaigns,
    ("before", "pk"): _open_campaigns,
    ("own-consent", "pk"): _open_campaigns,
    **{
        (name, "pk"): _adjudicated
        for name in (
            "adjudication",
            "adjudication-next",
            "adjudication-guideline",
            "adjudication-unit",
            "decide",
            "api-disputes",
            "api-dispute",
        )
    },
    **{(name, "unit"): _units for name in ("adjudication-unit", "decide", "api-dispute")},
    **{
        (name, "pk"): _teams
        for name in (
            "team",
            "team-change",
            "api-team",
            "api-team-members",
            "api-team-shares",
            "api-team-moves",
        )
    },
    **{
        (name, "uid"): _protocols
        for name in (
            "protocol",
            "protocol-file",
            "protocol-delete",
            "api-protocol",
            "api-protocol-delete",
        )
    },
    ("freeze", "pk"): _campaigns,
    ("exports", "pk"): _campaigns,
    ("export-file", "pk"): _campaigns,
    ("export-file", "what"): _exports,
    ("export-file", "form"): _forms,
    ("prolific", "pk"): _prolific,
    **{
        (name, "provider_id"): lambda world, role: Objects(("sso",), missing=("another",))
        for name in ("openid_connect_login", "openid_connect_callback")
    },
    ("token-take-back", "pk"): _tokens,
    ("person", "pk"): _people,
    ("person-change", "pk"): _people,
    ("api-person", "pk"): _people,
    ("api-forget", "pk"): _people,
    ("invitation-revoke", "pk"): _invitations,
    ("api-revoke", "pk"): _invitations,
    ("campaign-people", "pk"): _campaigns,
    ("campaign-people-change", "pk"): _campaigns,
    ("campaign-invite", "pk"): _campaigns,
    ("api-campaign-people", "pk"): _campaigns,
    ("api-pay", "pk"): _campaigns,
    ("api-members", "pk"): _campaigns,
    ("api-exclusion", "pk"): _labelled_campaigns,
    ("api-exclusion", "rater"): _raters,
    ("api-admission", "pk"): _labelled_campaigns,
    ("api-admission", "rater"): _people_asked,
    ("api-search", "pk"): _batches,
    ("api-free", "pk"): _labelled_campaigns,
    ("api-free", "rater"): _raters,
    ("disagreements", "pk"): _campaigns,
    ("disagreements-file", "pk"): _campaigns,
    ("disagreement", "pk"): _labelled_campaigns,
    ("disagreement", "unit"): _labelled_units,
    ("disagreement-tag", "pk"): _labelled_campaigns,
    ("disagreement-tag", "unit"): _labelled_units,
    ("disagreements-act", "pk"): _campaigns,
    ("disagreements-act", "name"): lambda world, role: Objects(("examples",), missing=("no",)),
    ("api-disagreements", "pk"): _campaigns,
    ("label-first", "pk"): _campaigns,
    ("api-label-first", "pk"): _campaigns,
    ("more-queries", "pk"): _campaigns,
    ("trust-certificate", "digest"): lambda world, role: Objects((), missing=("0" * 64,)),
    ("trust-wrong", "uid"): lambda world, role: Objects((), missing=(uuid.UUID(int=1),)),
    **{
        (name, "pk"): _campaigns
        for name in (
            "trust-certificate",
            "trust-wrong",
            "trust",
            "api-trust",
            "api-trust-draws",
            "api-trust-looks",
            "api-trust-end",
            "api-trust-certificates",
        )
    },
    ("change-drafts", "pk"): _campaigns,
    **{(name, "pk"): _labelled_campaigns for name in ("change-draft", "change-draft-try")},
    **{(name, "draft"): _drafts for name in ("change-draft", "change-draft-try")},
    ("campaign-progress", "pk"): _campaigns,
    ("campaign-quality", "pk"): _campaigns,
    ("campaign-rater", "pk"): _labelled_campaigns,
    ("campaign-rater", "rater"): _people_asked,
    ("rater-labels", "pk"): _labelled_campaigns,
    ("rater-labels", "rater"): _people_asked,
    ("rater-quality", "pk"): _labelled_campaigns,
    ("rater-quality", "rater"): _people_asked,
    ("api-progress", "pk"): _campaigns,
    ("api-quality", "pk"): _campaigns,
    ("api-bench", "pk"): _campaigns,
    ("api-rater-progress", "pk"): _labelled_campaigns,
    ("api-rater-progress", "rater"): _people_asked,
    ("campaign", "pk"): _campaigns,
    ("campaign-data", "pk"): _campaigns,
    ("campaign-item", "pk"): _campaigns,
    ("campaign-item", "position"): _positions,
    ("campaign-settings", "pk"): _campaigns,
    ("campaign-import", "pk"): _campaigns,
    ("import-template-csv", "pk"): _campaigns,
    ("import-template-xlsx", "pk"): _campaigns,
    ("campaign-judge-start", "pk"): _campaigns,
    ("campaign-trials", "pk"): _campaigns,
    ("campaign-baseline", "pk"): _campaigns,
    ("judge-answers", "pk"): _labelled_campaigns,
    ("judge-answers", "judge"): _judges_asked,
    ("api-attention", "pk"): _campaigns,
    ("campaign-terms", "pk"): _campaigns,
    ("campaign-turn", "pk"): _campaigns,
    ("campaign-known", "pk"): _campaigns,
    ("campaign-admit", "pk"): _campaigns,
    ("campaign-draws", "pk"): _campaigns,
    ("campaign-audit", "pk"): _campaigns,
    ("campaign-audit-file", "pk"): _campaigns,
    ("api-campaign-audit", "pk"): _campaigns,
    ("api-terms", "pk"): _campaigns,
    ("api-draws", "pk"): _campaigns,
    ("api-known", "pk"): _campaigns,
    ("api-next", "pk"): _open_campaigns,
    ("api-intake", "pk"): _open_campaigns,
    ("api-own-consent", "pk"): _open_campaigns,
    ("api-own-background", "pk"): _open_campaigns,
    ("batch", "pk"): _batches,
    ("query", "pk"): _batches,
    ("query", "position"): _positions,
    ("upload", "key"): _uploads,
    ("upload-live", "key"): _uploads,
    ("job-live", "key"): _jobs,
    ("job-order", "key"): _jobs,
    ("api-job", "key"): _jobs,
    ("api-job-cancel", "key"): _jobs,
    ("upload-order", "key"): _uploads,
    ("api-upload", "key"): _uploads,
    ("api-upload-keep", "key"): _uploads,
    ("api-upload-discard", "key"): _uploads,
    ("api-batch", "pk"): _batches,
    ("api-queries", "pk"): _batches,
    ("api-query", "pk"): _batches,
    ("api-query", "position"): _positions,
    ("nugget", "place"): _positions,
    ("api-campaign", "pk"): _visible_campaigns,
    ("api-units", "pk"): _campaigns,
    ("api-labels", "pk"): _campaigns,
    ("api-responses", "pk"): _campaigns,
    ("api-report", "pk"): _campaigns,
    ("api-measures", "pk"): _campaigns,
    ("api-items", "pk"): _campaigns,
    ("api-item", "pk"): _campaigns,
    ("api-item", "position"): _positions,
    ("api-campaign-assignments", "pk"): _campaigns,
    ("api-exports", "pk"): _campaigns,
    ("api-export", "pk"): _campaigns,
    ("api-export", "what"): _exports,
    ("api-export", "form"): _forms,
    ("api-imports", "pk"): _campaigns,
    ("api-frozen", "key"): _frozen,
    ("api-judge", "pk"): _judges,
    ("api-judge-library-file", "name"): _library,
    ("api-judge-estimate", "pk"): _judges,
    ("api-judge-try", "pk"): _judges,
    ("api-judge-trials", "pk"): _judges,
    ("api-judge-trials-estimate", "pk"): _judges,
    ("api-judges-compared", "pk"): _campaigns,
    ("api-run", "pk"): _runs,
    ("api-run-order", "pk"): _runs,
    ("api-run-manifest", "pk"): _runs,
    ("api-calls", "pk"): _runs,
    ("api-call", "pk"): _calls,
    ("batch-derive", "pk"): _batches,
    ("batch-measures", "pk"): _batches,
    ("batch-left-out", "pk"): _batches,
    ("api-derive", "pk"): _batches,
    ("api-lineage", "pk"): _batches,
    ("batch-chain", "pk"): _batches,
    ("api-batch-chain", "pk"): _batches,
    ("study", "pk"): _paper_studies,
    ("study-evaluators", "pk"): _paper_studies,
    ("api-study", "pk"): _paper_studies,
    ("api-left-out", "pk"): _batches,
    ("preparation", "pk"): _batches,
    **{
        (f"preparation-{name}", argument): found
        for name in ("begin", "accept", "build")
        for argument, found in (("pk", _batches), ("step", _steps))
    },
    ("review", "uid"): _authored,
    ("api-preparation", "pk"): _batches,
    **{
        (f"api-{name}", argument): found
        for name in (
            "preparation-step",
            "preparation-accept",
            "preparation-build",
            "prepared-list",
        )
        for argument, found in (("pk", _batches), ("step", _steps))
    },
    ("api-prepared", "uid"): _authored,
    ("api-review", "uid"): _authored,
    ("judge", "pk"): _judges,
    ("judge-file", "pk"): _judges,
    ("judge-try", "pk"): _judges,
    ("judge-start", "pk"): _judges,
    ("judge-run", "pk"): _runs,
    ("judge-run-live", "pk"): _runs,
    ("judge-run-order", "pk"): _runs,
    ("judge-run-manifest", "pk"): _runs,
    ("judge-calls", "pk"): _runs,
    ("judge-robustness", "pk"): _runs,
    ("judge-call", "pk"): _calls,
    ("judges-compared", "pk"): _campaigns,
    ("judge-bench", "pk"): _campaigns,
    ("results", "pk"): _campaigns,
    ("judge-bench-file", "pk"): _campaigns,
    ("study-paper-file", "suffix"): _files,
}
FAMILIES: dict[tuple[str, str], Provider] = {
    ("measures-figure-", "name"): _figures,
    ("api-figure", "pk"): _labelled_campaigns,
    ("api-figure", "name"): _figures,
    ("api-figure", "form"): _figure_forms,
    ("report-figure-", "pk"): _labelled_campaigns,
    ("report-figure-", "name"): _figures,
    ("report", "pk"): _campaigns,
    ("measures", "pk"): _campaigns,
    ("frozen", "key"): _frozen,
    ("study-paper", "pk"): _paper_studies,
    ("study-paper", "paper"): _papers,
    ("api-paper", "pk"): _paper_studies,
    ("api-paper", "paper"): _papers,
}


def provider(route: Route, argument: str) -> Provider | None:
    """Return the provider of an argument's values."""
    if found := ROUTES.get((route.name, argument)):
        return found
    for (start, name), family in FAMILIES.items():
        if route.name.startswith(start) and name == argument:
            return family
    return ARGUMENTS.get(argument)


def objects(
    world: World,
    route: Route,
    role: str,
    known: dict[tuple[Provider, str], Objects] | None = None,
) -> Objects:
    """Return whole addresses of a route. At most one argument at a time is foreign or missing."""
    found = {name: provider(route, name) for name in route.arguments}
    for name, fills in found.items():
        assert fills, (
            f"route {route.name!r} takes {name!r}: say in tests/security/world.py, at ROUTES, "
            "which values a role may open, which belong to others and which do not exist"
        )
    values = {name: _filled(world, role, fills, known) for name, fills in found.items() if fills}
    defaults = {name: any_of(each) for name, each in values.items()}

    def addresses(kind: str) -> tuple[str, ...]:
        filled = [
            {**defaults, name: value}
            for name, each in values.items()
            for value in getattr(each, kind)
        ]
        return tuple(route.address(one) for one in filled)

    if not values:
        return Objects((route.address({}),))
    return Objects(addresses("own"), addresses("foreign"), addresses("missing"))


def _filled(
    world: World,
    role: str,
    fills: Provider,
    known: dict[tuple[Provider, str], Objects] | None,
) -> Objects:
    """Return an argument's values, from `known` if they were looked up before."""
    if known is None:
        return fills(world, role)
    if (fills, role) not in known:
        known[fills, role] = fills(world, role)
    return known[fills, role]


def objects_of_all(world: World, route: Route) -> Mapping[str, Objects]:
    """Return a route's addresses by role, computed once per world, before its first request."""
    if route.name not in world.addresses:
        world.addresses[route.name] = {
            role: objects(world, route, role, world.found) for role in ROLES
        }
    return world.addresses[route.name]


def any_of(each: Objects) -> object:
    return (*each.own, *each.foreign, *each.missing)[0]
