"""One valid request for each route that changes something, with the audit event that it must write.

`EXAMPLES` are requests that succeed in the world of the crawler. `WITHOUT_EVENT` gives the reason
why each other route that accepts an unsafe method writes no event. A test names every route that is
in neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from analysis.evaluation.rendering import FORMATS as MEASURES_FORMATS
from analysis.models import Draft, FrozenReport, StudyPart
from annotation.answers.submission import submit
from annotation.assignments.withdrawal import give_consent
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import (
    Assignment,
    Invitation,
    Item,
    Membership,
    ProtocolFile,
    Rater,
    Unit,
    User,
    rater_of,
)
from annotation.people.identities import log_in_key
from annotation.people.invitations import invite
from annotation.people.membership import exclude
from annotation.people.prolific import Arrival, enter
from datasets.api_tokens import make_token
from datasets.models import Batch, Query, TeamMember, Upload
from judging.models import JudgeRun
from judging.prompts.template import sha256_of
from tandem.figures.files import available_kinds
from tandem.formats import FORMATS
from tests.page_cast import PASSWORD, answers, payload
from tests.security.rules import ADMIN, ANNOTATOR, ANONYMOUS, RESEARCHER
from tests.security.world import PROTOCOL, World, planted

REPORTS = tuple(each.suffix for each in FORMATS.values())
MEASURES = tuple(each.suffix for each in MEASURES_FORMATS.values())
FIGURES = tuple(each.suffix for each in available_kinds())
DIGEST = "ab" * 32
WORDS = "a sentence that somebody wrote"


@dataclass(frozen=True)
class Example:
    """A request: address, data, role and method; and the event that it must write."""

    event: str
    address: str
    sent: Mapping[str, Any] = field(default_factory=dict)
    role: str = RESEARCHER
    method: str = "POST"
    # The account that the event must name, if the role has none.
    by: int | None = None


Builder = Callable[[World], Example]


def _at(world: World, name: str, *keys: object, pk: int | None = None) -> str:
    return reverse(name, args=keys or [pk or world.study.campaign.pk])


def _deciding(name: str, method: str, sent: Mapping[str, Any]) -> Builder:
    """Ada, an adjudicator of the closed campaign, decides a unit on which two raters disagree."""

    def example(world: World) -> Example:
        item = world.closed.items.order_by("position")[0]
        for code in ("no", "invalid"):
            rater = Rater.objects.create(name=f"says {code}")
            asked = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
            submit(asked, payload(code), "api")
        Membership.objects.create(
            campaign=world.closed, user=world.study.ada, role=Membership.Role.ADJUDICATOR
        )
        unit = item.units.get(name="q:0")
        address = _at(world, name, world.closed.pk, unit.pk)
        return Example("adjudication.decided", address, sent, ANNOTATOR, method)

    return example


def _people(order: str, event: str, **sent: Any) -> Builder:
    def example(world: World) -> Example:
        given = {name: each(world) if callable(each) else each for name, each in sent.items()}
        return Example(event, _at(world, "campaign-people-change"), {"order": order, **given})

    return example


def _asking(world: World) -> int:
    """Return a campaign that asks Ada for consent."""
    change(world.study.campaign, CampaignSettings(consent=WORDS))
    return world.study.campaign.pk


def _agreed(world: World) -> int:
    """Return a campaign to which Ada has given consent."""
    pk = _asking(world)
    give_consent(world.study.campaign, rater_of(world.study.ada), 1)
    return pk


def _main(world: World) -> int:
    """Return the team of all accounts but Olga's."""
    return world.study.campaign.team_id


def _team(order: str, event: str, **sent: str) -> Builder:
    """Change the team, which Ben has left. Only the admin shares objects and adds him back."""

    def example(world: World) -> Example:
        TeamMember.objects.filter(user=world.study.ben).delete()
        address, role = (
            _at(world, "team-change", _main(world)),
            ADMIN if order in ("give", "add") else RESEARCHER,
        )
        return Example(event, address, {"order": order, **sent}, role)

    return example


def _person(order: str, event: str, is_active: bool = True, **sent: str) -> Builder:
    def example(world: World) -> Example:
        User.objects.filter(pk=world.study.ben.pk).update(is_active=is_active)
        address = _at(world, "person-change", world.study.ben.pk)
        return Example(event, address, {"order": order, **sent}, ADMIN)

    return example


def _excluded(world: World) -> int:
    exclude(world.study.campaign, rater_of(world.study.ada), WORDS)
    return rater_of(world.study.ada).pk


def _participant(world: World) -> int:
    return enter(world.study.campaign.prolific, Arrival("p", "s", "s1", signed=True)).pk


def _rater(world: World) -> int:
    return Rater.objects.get(user=world.study.ben).pk


def _invitation(world: World) -> int:
    return Invitation.objects.get(campaign=world.study.campaign).pk


def _known(world: World) -> dict[str, Any]:
    item = Item.objects.filter(campaign=world.closed).earliest("position")
    unit = item.units.values_list("name", flat=True)[0]
    return {"item": item.key, "unit": unit, "variable": "answerable", "value": "no"}


def _known_file(world: World) -> SimpleUploadedFile:
    line = {**_known(world), "rater": "known", "meta": {"reason": WORDS}}
    return SimpleUploadedFile("known.jsonl", json.dumps(line).encode())


def _batch_file(world: World) -> SimpleUploadedFile:
    line = {"id": "q1", "text": WORDS, "reports": [{"id": "r1", "text": WORDS}]}
    return SimpleUploadedFile("study.jsonl", json.dumps(line).encode())


def _ready(world: World) -> Upload:
    """Return an upload of the researcher that is ready to be kept or discarded."""
    upload = Upload.objects.get(user=world.users[RESEARCHER])
    found = {
        "format": "native", "counts": {"queries": 1}, "warnings": [], "warning_count": 0,
        "skipped": {}, "first": [],
    }  # fmt: skip
    Upload.objects.filter(pk=upload.pk).update(digest=DIGEST, found=found)
    return upload


def _joining(world: World) -> Example:
    made = invite("annotator", world.study.campaign, by=world.study.rita)
    sent = {"name": "newcomer", "password": PASSWORD + "9", "again": PASSWORD + "9"}
    return Example("invitation.used", f"{reverse('join')}?key={made.key}", sent, ANONYMOUS)


def _arriving(world: World) -> Example:
    asked = "PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=s1"
    return Example("prolific.arrived", f"{_at(world, 'prolific')}?{asked}", {}, ANONYMOUS)


def _campaign(world: World) -> dict[str, Any]:
    return {"protocol": "report-coverage", "batch": world.study.campaign.batch.name}


def _new_campaign(world: World) -> Example:
    more = {
        "name": "Second", "raters_per_item": 2, "overlap": 1, "human_share": 1, "seed": 0,
        "items": "fixed", "guideline": WORDS,
    }  # fmt: skip
    return Example("campaign.made", reverse("campaign-new"), {**_campaign(world), **more})


def _starting(world: World) -> Example:
    sent = {"campaign": world.closed.pk, "reuse": "never"}
    return Example("run.started", _at(world, "judge-start", planted().pk), sent)


def _protocol() -> object:
    return ProtocolFile.objects.exclude(team__name="others").get().uid


def _trying(world: World) -> Example:
    """Ask a judge that has answered under its present prompt one item again."""
    campaign, base = world.study.campaign, planted()
    JudgeRun.objects.filter(judge=base).update(prompt_sha256=sha256_of(base.prompt))
    sent = {"judge": base.pk, "order": "start", "kinds": "again", "items": 1}
    return Example("run.started", reverse("campaign-trials", args=[campaign.pk]), sent)


def _trying_by_api(world: World) -> Example:
    page = _trying(world)
    sent = {"campaign": world.study.campaign.pk, "kinds": ["again"], "items": 1}
    return Example(page.event, _at(world, "api-judge-trials", page.sent["judge"]), sent)


def _ordering(order: str, event: str, **sent: int) -> Builder:
    def example(world: World) -> Example:
        address = _at(
            world, "judge-run-order", JudgeRun.objects.get(campaign=world.study.campaign).pk
        )
        return Example(event, address, {"order": order, **sent})

    return example


def _ordering_by_api(event: str, **sent: Any) -> Builder:
    def example(world: World) -> Example:
        run = JudgeRun.objects.get(campaign=world.study.campaign)
        return Example(event, _at(world, "api-run-order", run.pk), sent)

    return example


def _reading(route: str, **more: str) -> Builder:
    """Download a report, or a figure of it."""

    def example(world: World) -> Example:
        address = reverse(route, kwargs={"pk": world.study.campaign.pk, **more})
        return Example("export", f"{address}?resamples=200", method="GET")

    return example


def _reading_figure(world: World) -> Example:
    of = world.study.campaign.pk, "coverage", "csv"
    return Example("export", _at(world, "api-figure", *of), method="GET")


def _reading_tables(route: str, *more: str) -> Builder:
    """Download a paper's tables for the study that the campaign belongs to."""

    def example(world: World) -> Example:
        part = StudyPart.objects.get(campaign=world.study.campaign)
        return Example("export", reverse(route, args=[part.study_id, "crux", *more]), method="GET")

    return example


def _reading_frozen(name: str) -> Builder:
    def example(world: World) -> Example:
        found = FrozenReport.objects.get(campaign=world.study.campaign)
        return Example("export", _at(world, name, found.key), method="GET")

    return example


def _labelling_first(world: World) -> Example:
    """Rita creates a campaign in which people label what two judges have labelled."""
    item = world.closed.items.order_by("position")[0]
    for name in ("one judge", "another judge"):
        rater = Rater.objects.create(name=name, kind="judge")
        asked = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
        submit(asked, payload("no"), "judge")
    return Example(
        "campaign.made", _at(world, "api-label-first", world.closed.pk), {"name": "first"}
    )


def _declaring(world: World) -> Example:
    """Rita declares an evaluator of a judge that labelled an item of her study."""
    campaign = world.study.campaign
    item = campaign.items.order_by("position")[0]
    rater = Rater.objects.create(name="a judge of one model", kind="judge")
    asked = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
    submit(asked, payload("no"), "judge")
    study = StudyPart.objects.get(campaign=campaign).study_id
    sent = {"name": "one model", "judges": [rater.name]}
    return Example("study.evaluators", _at(world, "study-evaluators", study), sent)


def _tagging(world: World) -> Example:
    campaign = world.study.campaign
    unit = Unit.objects.filter(item__campaign=campaign).order_by("pk")[0]
    address = _at(world, "disagreement-tag", campaign.pk, unit.pk)
    return Example("unit.tagged", address, {"tag": "ambiguous"})


def _sending(name: str, *more: str) -> Builder:
    """Rita sends the units on which two raters differ to adjudication."""

    def example(world: World) -> Example:
        item = world.closed.items.order_by("position")[0]
        for code in ("no", "invalid"):
            rater = Rater.objects.create(name=f"sent {code}")
            asked = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
            submit(asked, payload(code), "api")
        address = _at(world, name, world.closed.pk, *more)
        sent = {} if more else {"action": "adjudicate", "show": "all"}
        return Example("adjudication.sent", f"{address}?show=all" if more else address, sent)

    return example


def _drafting(world: World) -> Example:
    return Example("draft.made", _at(world, "change-drafts"), {"text": WORDS})


def _redrafting(world: World) -> Example:
    draft = Draft.objects.get(campaign=world.study.campaign)
    address = _at(world, "change-draft", world.study.campaign.pk, draft.pk)
    return Example("draft.changed", address, {"text": WORDS})


def _manifest(name: str) -> Builder:
    def example(world: World) -> Example:
        run = JudgeRun.objects.get(campaign=world.study.campaign)
        return Example("export", _at(world, name, run.pk), method="GET")

    return example


def _prepared(world: World) -> Assignment:
    """Return the judge's assignment in Rita's preparation step."""
    batch = world.study.campaign.batch
    return Assignment.objects.get(
        item__campaign__batch=batch, item__campaign__protocol="prepare-questions"
    )


def _unprepared() -> Batch:
    """Create a batch for which no preparation step has begun."""
    main = Batch.objects.get(name="harbour").team
    batch = Batch.objects.create(name="weir", format="native", digest="2" * 64, team=main)
    Query.objects.create(batch=batch, key="q", position=0, text="What of the weir?")
    return batch


def _preparing(name: str, step: str, event: str, /, **sent: Any) -> Builder:
    """Change a preparation step of the study's batch."""

    def example(world: World) -> Example:
        given = {key: each(world) if callable(each) else each for key, each in sent.items()}
        return Example(event, _at(world, name, world.study.campaign.batch_id, step), given)

    return example


def _beginning(name: str) -> Builder:
    """The admin begins a step: a researcher would also become a member, which is a second event."""

    def example(world: World) -> Example:
        sent = {"judge": planted().pk} if name == "preparation-begin" else {}
        return Example(
            "campaign.made", _at(world, name, _unprepared().pk, "questions"), sent, ADMIN
        )

    return example


def _deriving(name: str) -> Builder:
    def example(world: World) -> Example:
        sent = {"rule": "references-as-system", "name": "derived"}
        return Example("batch.derived", _at(world, name, world.study.campaign.batch_id), sent)

    return example


def _reviewing(name: str, **sent: Any) -> Builder:
    def example(world: World) -> Example:
        given = {"verdict": "rejected", "note": WORDS, **sent}
        return Example("preparation.reviewed", _at(world, name, _prepared(world).uid), given)

    return example


def _answered(world: World) -> object:
    return world.own[ANNOTATOR][0].uid


EXAMPLES: dict[str, list[Builder]] = {
    "login": [
        lambda w: Example(
            "login", reverse("login"), {"username": "ada", "password": PASSWORD}, ANONYMOUS,
            by=w.study.ada.pk,
        ),
        lambda w: Example(
            "login.failed", reverse("login"), {"username": WORDS, "password": WORDS}, ANONYMOUS
        ),
    ],
    "log-in-link": [
        lambda w: Example(
            "login", f"{reverse('log-in-link')}?key={log_in_key(w.study.ada)}", {}, ANONYMOUS,
            by=w.study.ada.pk,
        )
    ],
    "logout": [lambda w: Example("logout", reverse("logout"), role=ANNOTATOR)],
    "submit": [
        lambda w: Example(
            "answer.changed", _at(w, "submit", _answered(w)),
            answers("no", "no", "no", comment=WORDS, version=0, seen=1), ANNOTATOR,
        )
    ],
    "api-response": [
        lambda w: Example(
            "answer.changed", _at(w, "api-response", _answered(w)),
            {**payload("no", WORDS), "revision": 1}, ANNOTATOR, "PUT",
        )
    ],
    "before": [
        lambda w: Example(
            "consent.given", _at(w, "before", _asking(w)), {"version": 1, "agree": "1"}, ANNOTATOR,
        )
    ],
    "own-consent": [
        lambda w: Example(
            "consent.revoked", _at(w, "own-consent", _agreed(w)), {"revoke": "1"}, ANNOTATOR,
        )
    ],
    "api-own-consent": [
        lambda w: Example(
            "consent.given", _at(w, "api-own-consent", _asking(w)), {"version": 1}, ANNOTATOR,
            "PUT",
        ),
        lambda w: Example(
            "consent.revoked", _at(w, "api-own-consent", _agreed(w)), {"version": None}, ANNOTATOR,
            "PUT",
        ),
    ],
    "teams": [lambda w: Example("team.made", reverse("teams"), {"name": WORDS}, ADMIN)],
    "team-change": [
        _team("add", "team.member", account="ben", role="member"),
        _team("rename", "team.renamed", name=WORDS),
        _team("give", "team.shared", kind="campaign", name="Named", what="read"),
        _team("give", "team.moved", kind="batch", name="quay", what="move"),
    ],
    "api-teams": [lambda w: Example("team.made", reverse("api-teams"), {"name": WORDS}, ADMIN)],
    "api-team-members": [
        lambda w: Example(
            "team.left", _at(w, "api-team-members", _main(w)), {"name": "ben", "role": None},
            method="PUT",
        )
    ],
    "api-team-shares": [
        lambda w: Example(
            "team.shared", _at(w, "api-team-shares", _main(w)),
            {"kind": "batch", "name": "quay", "right": "read"}, ADMIN, "PUT",
        )
    ],
    "api-team-moves": [
        lambda w: Example(
            "team.moved", _at(w, "api-team-moves", _main(w)), {"kind": "batch", "name": "quay"},
            ADMIN,
        )
    ],
    "invite": [
        lambda w: Example(
            "invitation.made", reverse("invite"),
            {"role": "annotator", "campaign_role": "annotator", "note": WORDS}, ADMIN,
        )
    ],
    "campaign-invite": [
        lambda w: Example(
            "invitation.made", _at(w, "campaign-invite"),
            {"campaign_role": "annotator", "note": WORDS},
        )
    ],
    "api-invitations": [
        lambda w: Example(
            "invitation.made", reverse("api-invitations"),
            {"campaign": w.study.campaign.pk, "note": WORDS},
        )
    ],
    "invitation-revoke": [
        lambda w: Example("invitation.revoked", _at(w, "invitation-revoke", _invitation(w)))
    ],
    "api-revoke": [lambda w: Example("invitation.revoked", _at(w, "api-revoke", _invitation(w)))],
    "join": [_joining],
    "prolific": [_arriving],
    "person-change": [
        _person("role", "account.role", role="researcher"),
        _person("off", "account.off"),
        _person("on", "account.on", is_active=False),
        _person("end-sessions", "account.sessions"),
        _person("pseudonym", "account.pseudonym", name="somebody else"),
        _person("link", "login.link"),
        _person("forget", "account.forgotten", name="ben"),
    ],
    "api-forget": [
        lambda w: Example(
            "account.forgotten", _at(w, "api-forget", w.study.ben.pk), {"name": "ben"}, ADMIN
        )
    ],
    "api-person": [
        lambda w: Example(
            "account.pseudonym", _at(w, "api-person", w.study.ben.pk), {"pseudonym": ""}, ADMIN,
            "PUT",
        ),
        lambda w: Example(
            "account.role", _at(w, "api-person", w.study.ben.pk), {"role": "researcher"}, ADMIN,
            "PUT",
        ),
        lambda w: Example(
            "account.off", _at(w, "api-person", w.study.ben.pk), {"is_active": False}, ADMIN, "PUT"
        ),
    ],
    "campaign-people-change": [
        _people("settings", "campaign.people", pool="named", hold_minutes=60, items_per_person=3),
        _people("add", "member.added", account="ben", role="adjudicator"),
        _people("exclude", "exclusion.made", rater=_rater, reason=WORDS),
        _people("include", "exclusion.undone", rater=_excluded),
        _people("open-once", "prolific.opened", participant=_participant),
        _people("ended", "prolific.ended", participant=_participant, status="returned"),
        _people("free", "places.freed", rater=_rater),
        _people("prolific", "prolific.study", study_id="s2", completion_code="C2", most_people=9),
    ],
    "api-campaign-people": [
        lambda w: Example(
            "campaign.people", _at(w, "api-campaign-people"),
            {"pool": "named", "hold_minutes": 60}, method="PUT",
        )
    ],
    "api-members": [
        lambda w: Example(
            "member.added", _at(w, "api-members"), {"name": "ben", "role": "annotator"},
            method="PUT",
        ),
        lambda w: Example(
            "member.ended", _at(w, "api-members"), {"name": "ben", "role": None}, method="PUT"
        ),
    ],
    "api-exclusion": [
        lambda w: Example(
            "exclusion.made", _at(w, "api-exclusion", w.study.campaign.pk, _rater(w)),
            {"reason": WORDS}, method="PUT",
        )
    ],
    "api-free": [
        lambda w: Example("places.freed", _at(w, "api-free", w.study.campaign.pk, _rater(w)))
    ],
    "campaign-new": [_new_campaign],
    "protocol-new": [
        lambda w: Example(
            "protocol.made", reverse("protocol-new"),
            {"mode": "file", "text": PROTOCOL.replace("1", "2"), "order": "store"},
        )
    ],
    "protocol-delete": [
        lambda w: Example("protocol.deleted", _at(w, "protocol-delete", _protocol()))
    ],
    "api-protocols": [
        lambda w: Example(
            "protocol.made", reverse("api-protocols"), {"text": PROTOCOL.replace("1", "2")}
        )
    ],
    "api-protocol-delete": [
        lambda w: Example("protocol.deleted", _at(w, "api-protocol-delete", _protocol()))
    ],
    "api-campaigns": [
        lambda w: Example(
            "campaign.made", reverse("api-campaigns"), {**_campaign(w), "name": "Second"}
        )
    ],
    "campaign-terms": [
        lambda w: Example(
            "campaign.terms", _at(w, "campaign-terms"), {"language": "en", "guideline": WORDS}
        )
    ],
    "api-terms": [
        lambda w: Example("campaign.terms", _at(w, "api-terms"), {"language": "en"}),
        lambda w: Example(
            "campaign.opened", _at(w, "api-terms", pk=w.closed.pk), {"is_open": True}
        ),
    ],
    "campaign-turn": [
        lambda w: Example("campaign.closed", _at(w, "campaign-turn"), {"to": "closed"}),
        lambda w: Example(
            "campaign.opened", _at(w, "campaign-turn", pk=w.closed.pk), {"to": "open"}
        ),
        lambda w: Example("campaign.archived", _at(w, "campaign-turn"), {"to": "archived"}),
    ],
    "campaign-import": [
        lambda w: Example(
            "labels.imported", _at(w, "campaign-import", pk=w.closed.pk),
            {"file": _known_file(w)},
        )
    ],
    "campaign-known": [
        lambda w: Example(
            "known.set", _at(w, "campaign-known", pk=w.closed.pk),
            {"use": "gold", "file": _known_file(w)},
        )
    ],
    "api-known": [
        lambda w: Example(
            "known.set", _at(w, "api-known", pk=w.closed.pk),
            {"use": "gold", "answers": [{**_known(w), "reason": WORDS}]},
        )
    ],
    "campaign-admit": [
        lambda w: Example(
            "admission.made", _at(w, "campaign-admit"), {"rater": _rater(w), "reason": WORDS}
        )
    ],
    "upload-new": [
        lambda w: Example(
            "upload.received", reverse("upload-new"), {"files": [_batch_file(w)], "name": "new"}
        )
    ],
    "api-uploads": [
        lambda w: Example(
            "upload.received", reverse("api-uploads"), {"files": [_batch_file(w)], "name": "new"}
        )
    ],
    "upload-order": [
        lambda w: Example(
            "upload.kept", _at(w, "upload-order", _ready(w).key),
            {"order": "keep", "seen": DIGEST, "name": "kept"},
        ),
        lambda w: Example(
            "upload.read", _at(w, "upload-order", _ready(w).key),
            {"order": "read", "format": "native"},
        ),
        lambda w: Example(
            "upload.discarded", _at(w, "upload-order", _ready(w).key), {"order": "discard"}
        ),
    ],
    "api-upload-keep": [
        lambda w: Example(
            "upload.kept", _at(w, "api-upload-keep", _ready(w).key), {"digest": DIGEST}
        )
    ],
    "api-upload-discard": [
        lambda w: Example("upload.discarded", _at(w, "api-upload-discard", _ready(w).key))
    ],
    "freeze": [
        lambda w: Example(
            "report.frozen", f"{_at(w, 'freeze')}?resamples=200",
            {"inputs": FrozenReport.objects.get(campaign=w.study.campaign).inputs_sha256},
        )
    ],
    "api-reports": [
        lambda w: Example(
            "report.frozen", reverse("api-reports"),
            {
                "campaign": w.study.campaign.pk, "resamples": 200,
                "inputs": FrozenReport.objects.get(campaign=w.study.campaign).inputs_sha256,
            },
        )
    ],
    "tokens": [
        lambda w: Example("token.made", reverse("tokens"), {"scopes": ["read"], "days": 7})
    ],
    "token-take-back": [
        lambda w: Example(
            "account.sessions", _at(w, "token-take-back", make_token(w.study.rita)[0].pk)
        )
    ],
    "api-admission": [
        lambda w: Example(
            "admission.made", _at(w, "api-admission", w.study.campaign.pk, _rater(w)),
            {"reason": WORDS}, method="PUT",
        )
    ],
    "api-imports": [
        lambda w: Example(
            "labels.imported", _at(w, "api-imports", w.closed.pk),
            {"labels": [{**_known(w), "unit": "q:0", "rater": "crowd"}]},
        )
    ],
    "api-judges": [
        lambda w: Example(
            "judge.made", reverse("api-judges"), {"name": "overlap", "backend": "lexical"}
        )
    ],
    "api-runs": [
        lambda w: Example(
            "run.started", reverse("api-runs"),
            {"campaign": w.closed.pk, "judge": planted().pk},
        )
    ],
    "api-run-order": [
        _ordering_by_api("run.changed", order="concurrency", concurrency=3),
        _ordering_by_api("run.stopped", order="stop"),
    ],
    "api-export": [
        lambda w: Example(
            "export", _at(w, "api-export", w.closed.pk, "label-studio", "json"), method="GET"
        )
    ],
    "decide": [
        _deciding(
            "decide", "POST",
            {"unit-0": "q:0", "unit-0-answerable": "no", "comment": WORDS, "seen": 0},
        )
    ],
    "api-dispute": [
        _deciding(
            "api-dispute", "PUT",
            {"answer": {"answerable": "no", "evidence": []}, "reason": WORDS, "revision": 0},
        )
    ],
    "judge-new": [
        lambda w: Example(
            "judge.made", reverse("judge-new"),
            {"name": "overlap", "backend": "lexical", "granularity": "item"},
        )
    ],
    "judge-start": [_starting],
    "campaign-trials": [_trying],
    "api-judge-trials": [_trying_by_api],
    "campaign-baseline": [
        lambda w: Example("run.started", _at(w, "campaign-baseline", w.closed.pk), {})
    ],
    "judge-run-order": [
        _ordering("speed", "run.changed", concurrency=3, workers=1),
        _ordering("stop", "run.stopped"),
        _ordering("cancel", "run.stopped"),
    ],
    "preparation-begin": [_beginning("preparation-begin")],
    "api-preparation-step": [_beginning("api-preparation-step")],
    "preparation-accept": [
        _preparing(
            "preparation-accept", "questions", "preparation.reviewed",
            author=lambda w: _prepared(w).rater_id,
        )
    ],
    "api-preparation-accept": [
        _preparing(
            "api-preparation-accept", "questions", "preparation.reviewed",
            author=lambda w: _prepared(w).rater.name,
        )
    ],
    "batch-derive": [_deriving("batch-derive")],
    "api-derive": [_deriving("api-derive")],
    "preparation-build": [
        _preparing("preparation-build", "sentences", "batch.derived", name="split")
    ],
    "api-preparation-build": [
        _preparing("api-preparation-build", "sentences", "batch.derived", name="split")
    ],
    "review": [_reviewing("review", seen="")],
    "api-review": [_reviewing("api-review")],
    "export-file": [
        lambda w: Example(
            "export", _at(w, "export-file", w.closed.pk, "label-studio", "json"), method="GET"
        )
    ],
    "api-labels": [lambda w: Example("export", _at(w, "api-labels", w.closed.pk), method="GET")],
    "api-units": [lambda w: Example("export", _at(w, "api-units"), method="GET")],
    "api-responses": [
        lambda w: Example("export", _at(w, "api-responses", w.closed.pk), method="GET")
    ],
    "audit-file": [lambda w: Example("export", reverse("audit-file"), role=ADMIN, method="GET")],
    "campaign-audit-file": [
        lambda w: Example("export", _at(w, "campaign-audit-file"), method="GET")
    ],
    "import-template-csv": [
        lambda w: Example("export", _at(w, "import-template-csv", w.closed.pk), method="GET")
    ],
    "import-template-xlsx": [
        lambda w: Example("export", _at(w, "import-template-xlsx", w.closed.pk), method="GET")
    ],
    "campaign-draws": [lambda w: Example("export", _at(w, "campaign-draws"), method="GET")],
    "judge-run-manifest": [_manifest("judge-run-manifest")],
    "api-run-manifest": [_manifest("api-run-manifest")],
    "api-report": [_reading("api-report")],
    "api-frozen": [_reading_frozen("api-frozen")],
    "api-measures": [_reading("api-measures")],
    "api-bench": [_reading("api-bench")],
    "judge-bench-file": [_reading("judge-bench-file")],
    "disagreements-file": [_reading("disagreements-file")],
    "disagreement-tag": [_tagging],
    "study-evaluators": [_declaring],
    "disagreements-act": [_sending("disagreements-act", "adjudicate")],
    "api-disagreements": [_sending("api-disagreements")],
    "api-label-first": [_labelling_first],
    "change-drafts": [_drafting],
    "change-draft": [_redrafting],
    "api-paper": [_reading_tables("api-paper")],
    "study-paper-file": [_reading_tables("study-paper-file", "md")],
    "measures-zip": [_reading("measures-zip")],
    **{f"measures-{suffix}": [_reading(f"measures-{suffix}")] for suffix in MEASURES},
    **{f"report-{suffix}": [_reading(f"report-{suffix}")] for suffix in REPORTS},
    **{f"frozen-{suffix}": [_reading_frozen(f"frozen-{suffix}")] for suffix in REPORTS},
    **{
        f"report-figure-{suffix}": [_reading(f"report-figure-{suffix}", name="coverage")]
        for suffix in FIGURES
    },
    "api-figure": [_reading_figure],
}  # fmt: skip

DOWNLOADS = (
    "import-template-csv", "import-template-xlsx",
    "export-file", "api-export", "api-labels", "api-units", "api-responses", "audit-file",
    "campaign-audit-file", "campaign-draws", "judge-run-manifest", "api-run-manifest",
    "api-report", "api-frozen", "api-measures", "measures-zip", "api-bench", "judge-bench-file",
    "disagreements-file",
    "api-paper", "study-paper-file", "api-figure",
    *(f"measures-{suffix}" for suffix in MEASURES),
    *(f"{name}-{suffix}" for name in ("report", "frozen") for suffix in REPORTS),
    *(f"report-figure-{suffix}" for suffix in FIGURES),
)  # fmt: skip
"""Requests that change nothing, but are recorded because data leaves the site."""

_CONFIRMED = "asks for the password first; tests/security/test_second_factor.py tests its event"
WITHOUT_EVENT = {
    "doctor-examine": "starts an examination, which changes nothing",
    "change-draft-try": "needs development queries; tests/analysis/drafts tests its event",
    "label-first": "fills in the form of a new campaign, whose creation is recorded",
    **dict.fromkeys(
        (
            "trust",
            "api-trust",
            "api-trust-draws",
            "api-trust-looks",
            "api-trust-end",
            "api-trust-certificates",
        ),
        "needs twenty queries and their judge; tests/analysis/trust tests its events",
    ),
    "more-queries": "fills in the form of a new campaign, whose creation is recorded",
    "guideline-look": "shows what was sent, and stores nothing",
    "protocol-fits": "counts what was sent, and stores nothing",
    "api-protocol-check": "checks what was sent, and stores nothing",
    "account_login": "another name of login",
    "mfa_authenticate": "nobody here has a code; see tests/security/test_second_factor.py",
    "mfa_activate_totp": _CONFIRMED,
    "mfa_deactivate_totp": _CONFIRMED,
    "mfa_generate_recovery_codes": _CONFIRMED,
    "password": _CONFIRMED,
    "identity-remove": "no identity is linked; test_single_sign_on.py tests its event",
    "openid_connect_login": "leads to another site, and changes nothing here",
    "account_reauthenticate": "a logged-in person confirms who they are, which changes nothing",
    "mfa_reauthenticate": "the same with a code",
    "job-order": "a job computes what its reader may read anyway, and is not part of a study",
    "api-job-cancel": "the same through the API",
    "take-next": "the assignment itself records who was given what, and when",
    "api-next": "the same through the API",
    "language": "the language of a person's own pages is not part of a study",
    "cannot-judge": "the assignment itself records who could not judge what, and why",
    "take-up": "the assignment itself records who was given what, and when",
    "draft": "a draft is not an answer, and is saved every few seconds",
    "api-own-background": "each set of background answers is a row of its own, with its time",
    "nugget": "changes one's own answer through the same function as submit, which records it",
    "judge-try": "the trial of one item is only shown, and is not part of a study",
    "api-judge-try": "the same through the API",
    "judge-new-try": "the same with a judge that is not stored, either",
    "api-judge-draft-try": "the same through the API",
    "judge-file-check": "the text is checked, and not stored",
    "judge-file-load": "the text is put into the form, and not stored",
    "api-rehearsal": "a dry run stores nothing",
}
