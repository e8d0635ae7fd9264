"""Changes to people and leases have one event each, and are undone if it cannot be recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from annotation.gold import scoring
from annotation.models import Rater, rater_of
from annotation.people import accounts, invitations, leases, membership, prolific
from annotation.people.invitations import invite
from annotation.people.leases import set_lease
from annotation.people.membership import exclude
from annotation.people.prolific import Arrival, enter, set_study
from audit.models import Event
from datasets import api_tokens
from datasets.api_tokens import make_token
from tests.once import once
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db
Act = Callable[[], object]
ARRIVAL = Arrival("p1", "study1", "s1", signed=True)


class Change(NamedTuple):
    """An action with its preparation, and the event that it records: object, facts and digests."""

    module: ModuleType
    act: Callable[[Study], Act]
    event: str
    kind: str
    facts: dict[str, Any]
    within: bool = False  # whether it is an event of the campaign
    changes: tuple[bool, bool] = (False, False)  # whether digests before and after are kept


def ada(study: Study) -> Rater:
    study.assignment(study.ada)
    return rater_of(study.ada)


def with_token(study: Study) -> None:
    make_token(study.ada)


def ending(study: Study) -> Act:
    with_token(study)
    return lambda: accounts.end_sessions(study.ada)


def another_role(study: Study) -> Act:
    with_token(study)
    membership.add_member(study.campaign, study.ada, "annotator")
    return lambda: accounts.change_role(study.ada, "researcher")


def off(study: Study) -> Act:
    ada(study)
    return lambda: accounts.switch_off(study.ada)


def on(study: Study) -> Act:
    off(study)()
    return lambda: accounts.switch_on(study.ada)


def renaming(study: Study) -> Act:
    rater = ada(study)
    return lambda: accounts.rename_rater(rater, "Robin")


def forgetting(study: Study) -> Act:
    ada(study)
    with_token(study)
    return lambda: accounts.forget(study.ada)


def excluding(study: Study) -> Act:
    rater = ada(study)
    return lambda: exclude(study.campaign, rater, "too fast")


def another_reason(study: Study) -> Act:
    excluding(study)()
    return lambda: exclude(study.campaign, rater_of(study.ada), "asleep")


def including(study: Study) -> Act:
    excluding(study)()
    return lambda: membership.include(study.campaign, rater_of(study.ada))


def inviting(study: Study) -> Act:
    return lambda: invite("annotator", study.campaign)


def accepting(study: Study) -> Act:
    made = invite("annotator", study.campaign).invitation
    return lambda: invitations.accept(made, "eve", "a long pass phrase")


def joining(study: Study) -> Act:
    made = invite("annotator", study.campaign).invitation
    return lambda: invitations.join(made, study.ben)


def revoking(study: Study) -> Act:
    made = invite("annotator", study.campaign).invitation
    return lambda: invitations.revoke(made)


def adding(study: Study) -> Act:
    study.assignment(study.rita)
    membership.add_member(study.campaign, study.rita, "annotator")
    return lambda: membership.add_member(study.campaign, study.rita, "researcher")


def removing(study: Study) -> Act:
    ada(study)
    return lambda: membership.end_membership(study.campaign, study.ada)


def recorded_change(study: Study) -> Act:
    def act() -> None:
        with membership.record_change(study.campaign):
            membership.set_most_items(study.campaign, 2)

    return act


def freeing(study: Study) -> Act:
    rater = ada(study)
    return lambda: leases.free(study.campaign, rater.pk)


def a_study(study: Study) -> Act:
    return lambda: set_study(study.campaign, "study1", "C0DE", 2)


def arriving(study: Study) -> Act:
    known = set_study(study.campaign, "study1", "C0DE", 2)
    return lambda: enter(known, ARRIVAL)


def arriving_again(study: Study) -> Act:
    arriving(study)()
    known = set_study(study.campaign, "study1", "C0DE", 2)
    return lambda: enter(known, replace(ARRIVAL, session_id="s2"))


def letting_in_again(study: Study) -> Act:
    participant = enter(set_study(study.campaign, "study1", "C0DE", 2), ARRIVAL)
    return lambda: prolific.open_once(participant)


def leaving(study: Study) -> Act:
    known = set_study(study.campaign, "study1", "C0DE", 2)
    participant = enter(known, ARRIVAL)
    study.assignment(participant.user)
    return lambda: prolific.end(participant, "returned")


def admitting(study: Study) -> Act:
    rater = ada(study)
    return lambda: scoring.admit(study.campaign, rater, "knows it")


def granted(study: Study) -> Act:
    return lambda: make_token(study.ada, days=3)


def taken_back(study: Study) -> Act:
    grant, _ = make_token(study.ada)
    return lambda: api_tokens.revoke(grant)


def all_taken_back(study: Study) -> Act:
    with_token(study)
    with_token(study)
    return lambda: api_tokens.revoke_all(study.ada)


BOTH, AFTER = (True, True), (False, True)
INVITED = {"role": "annotator", "within": "annotator"}
CHANGES = {
    "sessions": Change(accounts, ending, "account.sessions", "account", {"tokens": 1}),
    "role": Change(accounts, another_role, "account.role", "account",
                 {"was": "annotator", "now": "researcher"}, changes=BOTH),
    "off": Change(accounts, off, "account.off", "account", {}),
    "on": Change(accounts, on, "account.on", "account", {}),
    "pseudonym": Change(accounts, renaming, "account.pseudonym", "rater", {}, changes=BOTH),
    "forgotten": Change(accounts, forgetting, "account.forgotten", "account",
                      {"labels_kept": True}),
    "excluded": Change(membership, excluding, "exclusion.made", "rater", {}, True, AFTER),
    "another reason": Change(membership, another_reason, "exclusion.made", "rater", {}, True, BOTH),
    "admitted": Change(scoring, admitting, "admission.made", "rater", {}, True, AFTER),
    "included": Change(membership, including, "exclusion.undone", "rater", {}, True),
    "invited": Change(invitations, inviting, "invitation.made", "invitation", INVITED, True),
    "accepted": Change(invitations, accepting, "invitation.used", "invitation",
                     {"new_account": True}, True),
    "joined": Change(invitations, joining, "invitation.used", "invitation",
                   {"new_account": False}, True),
    "revoked": Change(invitations, revoking, "invitation.revoked", "invitation", {}, True),
    "member": Change(membership, adding, "member.added", "account",
                   {"was": "annotator", "now": "researcher"}, True, BOTH),
    "no member": Change(membership, removing, "member.ended", "account", {}, True),
    "people": Change(membership, recorded_change, "campaign.people", "campaign",
                   {"pool": "open", "hold_minutes": 480, "items_per_person": 2}, True, BOTH),
    "freed": Change(leases, freeing, "places.freed", "rater", {"places": 1}, True),
    "a study": Change(prolific, a_study, "prolific.study", "prolificstudy",
                    {"people": 2, "signed": False}, True, AFTER),
    "arrived": Change(prolific, arriving, "prolific.arrived", "prolificstudy", {"again": False},
                    True),
    "again": Change(prolific, arriving_again, "prolific.arrived", "prolificstudy", {"again": True},
                  True),
    "elsewhere": Change(prolific, letting_in_again, "prolific.opened", "participant", {}, True),
    "left": Change(prolific, leaving, "prolific.ended", "participant",
                 {"status": "returned", "places": 1}, True),
    "token": Change(api_tokens, granted, "token.made", "account", {"days": 3}),
    "token back": Change(api_tokens, taken_back, "account.sessions", "account", {"tokens": 1}),
    "all back": Change(api_tokens, all_taken_back, "account.sessions", "account", {"tokens": 2}),
}  # fmt: skip


@once
def study() -> Study:
    study = make_study(people=2)
    set_lease(study.campaign, 480)
    return study


@pytest.mark.every_case
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_change_to_people_is_one_event(study: Study, change: Change) -> None:
    act = change.act(study)
    before = set(Event.objects.values_list("pk", flat=True))
    act()
    (event,) = Event.objects.exclude(pk__in=before)
    assert (event.event, event.object_kind, event.facts) == (
        change.event,
        change.kind,
        change.facts,
    )
    assert event.object_id.isdecimal()
    assert event.campaign == (study.campaign.pk if change.within else None)
    assert (bool(event.before), bool(event.after)) == change.changes
    assert not event.before or event.before != event.after
