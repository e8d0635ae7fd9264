"""Recorded events cannot change: the database refuses, and seals reveal any change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, transaction

from audit import seals
from audit.append_only import REFUSED, create_statements, drop_statements
from audit.models import Event, Seal
from audit.recording import record
from audit.seals import count_unsealed, find_broken_seals, is_seal, seal

SITE = 0

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
CAMPAIGN, OTHER = 7, 8


@pytest.fixture
def trail() -> list[Seal]:
    """Three rounds of sealing: site and a campaign; the same and another campaign; the site."""
    record("login", by=1)
    record("campaign.opened", CAMPAIGN, ("campaign", CAMPAIGN))
    first = seal()
    record("campaign.closed", CAMPAIGN, ("campaign", CAMPAIGN), deadline="changed")
    record("campaign.made", OTHER, ("campaign", OTHER), items=3)
    second = seal()
    record("logout", by=1)
    return [*first, *second, *seal()]


@contextmanager
def a_thief() -> Iterator[None]:
    """Act as an intruder who can drop triggers."""
    with connection.cursor() as cursor:
        for statement in drop_statements(connection.vendor):
            cursor.execute(statement)
        yield
        for statement in create_statements(connection.vendor):
            cursor.execute(statement)


def test_each_chain_has_its_own_numbers_and_the_site_is_sealed_last(trail: list[Seal]) -> None:
    seals = [(each.chain, each.number, each.count) for each in trail]
    assert seals == [
        (CAMPAIGN, 1, 1), (SITE, 1, 1),
        (CAMPAIGN, 2, 1), (OTHER, 1, 1), (SITE, 2, 0),
        (SITE, 3, 1),
    ]  # fmt: skip
    assert set(trail[4].heads) == {str(CAMPAIGN), str(OTHER)}
    assert trail[2].previous == trail[0].digest


def test_an_untouched_trail_has_no_broken_seal(trail: list[Seal]) -> None:
    assert list(find_broken_seals()) == []
    assert seal() == []
    record("login", by=2)
    assert count_unsealed() == 1
    assert list(find_broken_seals()) == []


@pytest.mark.parametrize("change", [{"who": 2}, {"event": "logout"}, {"facts": {"a": 1}}])
def test_a_changed_event_breaks_its_seal(trail: list[Seal], change: dict[str, object]) -> None:
    with a_thief():
        Event.objects.filter(campaign=CAMPAIGN, event="campaign.closed").update(**change)
    assert list(find_broken_seals()) == [
        "seal 2 of campaign 7 covers other events than those stored now"
    ]


def test_broken_seals_are_listed_chain_by_chain(trail: list[Seal]) -> None:
    with a_thief():
        Event.objects.update(event="something.else")
    chains = [each.split(" covers")[0].partition(" of ")[2] for each in find_broken_seals()]
    site, mine, other = "the site", f"campaign {CAMPAIGN}", f"campaign {OTHER}"
    assert chains == [site, site, mine, mine, other]


def test_a_changed_time_breaks_its_seal(trail: list[Seal]) -> None:
    with a_thief():
        Event.objects.filter(event="logout").update(at=trail[0].at)
    assert list(find_broken_seals()) == [
        "seal 3 of the site covers other events than those stored now"
    ]


def test_a_deleted_event_breaks_its_seal(trail: list[Seal]) -> None:
    with a_thief():
        Event.objects.filter(event="login").delete()
    assert list(find_broken_seals()) == [
        "seal 1 of the site covers 1 event, but there are 0",
        "the site has 1 event, but its seals cover 2",
    ]


def test_a_campaign_that_lost_all_its_events_is_reported(trail: list[Seal]) -> None:
    with a_thief():
        Event.objects.filter(campaign=OTHER).delete()
    assert "campaign 8 has 0 events, but its seals cover 1" in list(find_broken_seals())


def test_an_inserted_event_breaks_the_seal_that_covers_its_number(trail: list[Seal]) -> None:
    moved = Event.objects.get(event="campaign.made").pk
    with a_thief():
        Event.objects.filter(pk=moved).delete()
        Event.objects.create(pk=moved, event="login")
    assert "seal 2 of the site covers 0 events, but there is 1" in list(find_broken_seals())


def test_an_event_moved_to_another_campaign_is_found(trail: list[Seal]) -> None:
    gone = Event.objects.get(event="logout").pk
    with a_thief():
        Event.objects.filter(pk=gone).update(campaign=OTHER)
    found = list(find_broken_seals())
    assert "campaign 8 has 2 events, but its seals cover 1" in found
    assert "seal 3 of the site covers 1 event, but there are 0" in found


def test_a_seal_deleted_from_the_middle_of_a_chain_is_found(trail: list[Seal]) -> None:
    with a_thief():
        Seal.objects.filter(chain=SITE, number=2).delete()
    found = list(find_broken_seals())
    assert "seal 2 of the site is missing" in found
    assert not any(line.startswith("seal 3 of the site") for line in found)


def test_nothing_is_sealed_while_writers_never_pause(
    trail: list[Seal], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record("login", by=2)
    monkeypatch.setattr(seals, "_no_writer", lambda: False)
    monkeypatch.setattr(seals, "PAUSE", 0)
    assert seal() == []
    assert "writers never paused" in caplog.text
    assert count_unsealed() == 1


def test_only_one_of_two_concurrent_sealers_succeeds(
    trail: list[Seal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second sealer read the last seal before the first sealer stored a new one."""
    record("login", by=2)
    before = Seal.objects.count()
    late = Seal.objects.get(chain=SITE, number=2)
    monkeypatch.setattr(seals, "_sealed", lambda upto: [_again(late)])
    assert seal() == []
    assert Seal.objects.count() == before


def _again(made: Seal) -> Seal:
    return Seal.objects.create(
        chain=made.chain, number=made.number, since=0, last=1, count=0, previous="", digest=""
    )


def test_a_campaign_whose_last_seal_was_deleted_is_found(trail: list[Seal]) -> None:
    with a_thief():
        Event.objects.filter(campaign=CAMPAIGN, event="campaign.closed").delete()
        Seal.objects.filter(chain=CAMPAIGN, number=2).delete()
    assert list(find_broken_seals()) == [
        "seal 2 of campaign 7 is not the one that the site's seals name"
    ]


def test_a_rewritten_seal_does_not_match_the_seals_after_it(trail: list[Seal]) -> None:
    with a_thief():
        Seal.objects.filter(chain=CAMPAIGN, number=1).update(digest="0" * 64)
    found = list(find_broken_seals())
    assert "seal 2 of campaign 7 does not follow from the one before" in found
    assert "seal 1 of campaign 7 is not the one that the site's seals name" in found


@pytest.mark.every_case
@pytest.mark.parametrize("model", [Event, Seal])
@pytest.mark.parametrize("how", ["change", "delete"])
def test_the_database_refuses_to_change_or_delete_events_and_seals(
    trail: list[Seal], model: type[Event] | type[Seal], how: str
) -> None:
    rows = model._default_manager.all()
    acts: dict[str, Callable[[], object]] = {
        "change": lambda: rows.update(at=trail[0].at),
        "delete": lambda: rows._raw_delete(rows.db),
    }
    with pytest.raises(DatabaseError, match=REFUSED), transaction.atomic():
        acts[how]()
    assert list(find_broken_seals()) == []


def test_the_commands_seal_and_check_the_trail(
    trail: list[Seal], capsys: pytest.CaptureFixture[str]
) -> None:
    record("login", by=2)
    call_command("seal_audit")
    head = Seal.objects.filter(chain=SITE).latest("number").digest
    assert head in capsys.readouterr().out
    call_command("check_audit", head=head)
    assert "7 seals are valid; 0 events are not sealed" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"not valid: 1 fault\."):
        call_command("check_audit", head="0" * 64)
    assert is_seal(head)
    with a_thief():
        Event.objects.filter(event="login", who=2).update(who=3)
    with pytest.raises(CommandError, match="is not valid"):
        call_command("check_audit")
    assert "Seal 4 of the site covers other events" in capsys.readouterr().out
