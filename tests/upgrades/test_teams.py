"""After an upgrade from version 0.5.0 objects belong to their creators, or else to the admins.

Commands created what `version-0.5.0.jsonl` holds. Besides, Sam loaded a batch in the browser and
created a campaign over the commands' batch; a worker loaded Rita's upload; and Kim, who loaded a
batch, has no account any more. Ada works in the commands' campaign, Zoe in none, and Rita has begun
an item in Sam's.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from django.apps.registry import Apps
from django.core.management import call_command

from annotation.models import Campaign, Membership, User
from annotation.people.membership import manageable, readable, workable
from audit.models import Event
from datasets.access import visible_batches
from datasets.models import Batch, Team, TeamMember
from judging.models import Judge, Key, Price
from tests.cast import run
from tests.migrating import quickly
from tests.upgrades.version_0_5_0 import installed
from tests.upgrades.work import WorkGoesOn

pytestmark = pytest.mark.django_db
KIM = 99


@pytest.fixture(scope="module", autouse=True)
def output(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The database as version 0.5.0 left it, migrated; what `migrate` printed."""
    out = io.StringIO()
    with installed(django_db_blocker) as apps:
        plant_more(apps)
        with quickly():
            call_command("migrate", verbosity=1, stdout=out)
        yield out.getvalue()


def plant_more(apps: Apps) -> None:
    def model(name: str) -> Any:
        return apps.get_model(name)._default_manager

    users, batches, events = model("annotation.User"), model("datasets.Batch"), model("audit.Event")
    rita = users.get(username="rita")
    sam = users.create(username="sam", role="researcher", password="!")
    users.create(username="root", role="admin", password="!")
    users.create(username="zoe", role="annotator", password="!")

    def made(event: str, kind: str, of: Any, who: int | None) -> None:
        within = of.pk if kind == "campaign" else None
        events.create(event=event, who=who, object_kind=kind, object_id=of.pk, campaign=within)

    sams, ritas, kims = (
        batches.create(name=name, format="native", digest=sha256().hexdigest())
        for name in ("sams", "ritas", "kims")
    )
    made("batch.loaded", "batch", sams, sam.pk)
    made("batch.loaded", "batch", ritas, None)
    made("batch.loaded", "batch", kims, KIM)
    model("datasets.Upload").create(user=rita, name="ritas", state="kept", batch=ritas)
    pilot = model("annotation.Campaign").get(name="Pilot")
    options = {"protocol": pilot.protocol, "protocol_version": "1", "options": pilot.options}
    study = model("annotation.Campaign").create(name="Study", batch=pilot.batch, **options)
    made("campaign.made", "campaign", study, sam.pk)

    def copied(name: str, of: Any, **instead: Any) -> None:
        for row in model(f"annotation.{name}").filter(**of).order_by("pk"):
            row.pk = None
            for field, value in instead.items():
                setattr(row, field, value)
            row.save()

    copied("QueryDraw", {"campaign": pilot}, campaign=study)
    copied("Item", {"campaign": pilot}, campaign=study, quota=1, taken=0)
    for new in study.items.all():
        for name in ("Unit", "UnitDraw"):
            copied(name, {"item__campaign": pilot, "item__key": new.key}, item=new)
    study.items.filter(position=0).update(taken=1)
    item = study.items.get(position=0)
    rater = model("annotation.Rater").create(name="person-rita", kind="human", user=rita)
    model("annotation.Assignment").create(item=item, rater=rater, asked=[], slot=1)
    judge = model("judging.Judge").get()
    model("judging.JudgeRun").create(campaign=study, judge=judge, prompt_sha256="0" * 64)
    model("judging.Price").create(model="m", since="2026-01-01", prompt=1, cached=1, completion=1)


def team_of(thing: Any) -> str:
    return str(thing.team)


def user(name: str) -> User:
    return User.objects.get(username=name)


def test_objects_go_to_the_creator_named_in_the_trail_or_else_to_the_admins(output: str) -> None:
    where = {batch.name: (team_of(batch), batch.made_by) for batch in Batch.objects.all()}
    assert where == {
        "bridges": ("administrators", None),
        "kims": ("administrators", None),
        "ritas": ("rita", user("rita")),
        "sams": ("sam", user("sam")),
    }
    assert {c.name: team_of(c) for c in Campaign.objects.all()} == {
        "Pilot": "administrators",
        "Study": "sam",
    }
    assert team_of(Judge.objects.get()) == team_of(Key.objects.get()) == "administrators"
    roles = {(str(m.team), m.user.username): m.role for m in TeamMember.objects.all()}
    assert roles == {
        ("rita", "rita"): "owner",
        ("sam", "sam"): "owner",
        ("administrators", "rita"): "member",
        ("administrators", "sam"): "member",
        ("administrators", "ada"): "member",
        ("administrators", "ben"): "member",
        ("administrators", "zoe"): "member",
    }


def test_people_manage_their_own_objects_and_read_those_without_a_known_creator() -> None:
    rita, sam = user("rita"), user("sam")
    names = {u: set(manageable(u).values_list("name", flat=True)) for u in (rita, sam)}
    assert names == {rita: set(), sam: {"Study"}}
    assert set(manageable(user("root"))) == set(Campaign.objects.all())
    assert "sams" not in visible_batches(rita).values_list("name", flat=True)
    assert "ritas" not in visible_batches(sam).values_list("name", flat=True)
    assert Campaign.objects.get(name="Pilot") in readable(rita)


def test_people_continue_the_campaigns_that_they_worked_on() -> None:
    pilot, study = (Campaign.objects.get(name=name) for name in ("Pilot", "Study"))
    for name in ("ada", "ben", "zoe"):
        assert list(workable(user(name))) == [pilot]
    assert set(workable(user("rita"))) == {pilot, study}
    assert Membership.objects.get(user=user("rita")).campaign == study
    # The study's batch and judge belong to the administrators, but its team can still use them.
    (share,) = study.batch.shares.all()
    assert (str(share.team), share.right) == ("sam", "read")
    (other,) = Judge.objects.get().shares.all()
    assert (str(other.team), other.right) == ("sam", "manage")
    assert Price.objects.count() == Team.objects.count() == 3


def test_the_new_owners_are_listed_and_recorded_in_the_trail(output: str) -> None:
    line = "Teams: 7 batches, campaigns and judges were given to 3 teams; tandem team history"
    assert line in output
    listed = run("team", "history")
    assert "batch ritas: given to rita at the upgrade, as rita created it" in listed
    assert "campaign Pilot: given to administrators at the upgrade, as nobody is named" in listed
    assert "batch bridges: shared with sam, to read" in listed
    study = Campaign.objects.get(name="Study")
    given = Event.objects.get(event="team.given", campaign=study.pk)
    assert given.facts == {"team": study.team_id, "maker": user("sam").pk}
    assert "seals are valid" in run("check_audit")


class TestWork(WorkGoesOn):
    """Work on the upgraded database, in which others have campaigns of their own."""
