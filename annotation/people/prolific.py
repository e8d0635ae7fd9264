"""Studies on Prolific: people who arrive by its link, and the code with which they return.

Prolific's parameters identify a person and are not signed. The ids are long and random, and no
person is shown the ids of another.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Exists, Q, QuerySet

from annotation.models import (
    LETTERS,
    Campaign,
    Membership,
    Participant,
    ProlificStudy,
    User,
    rater_of,
)
from annotation.people.accounts import switch_off, switch_on
from annotation.people.leases import Ended, release_all
from annotation.people.membership import PeopleError
from audit.recording import folded, record

Status = Participant.Status
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
COMPLETE = "https://app.prolific.com/submissions/complete?cc={code}"
ENTRY = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


@dataclass(frozen=True)
class Arrival:
    """The three parameters of Prolific's link."""

    pid: str
    study_id: str
    session_id: str

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> Arrival:
        """Read the parameters. Raises PeopleError if one is missing or malformed."""
        values = [parameters.get(n, "") for n in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")]
        if not all(ID.fullmatch(value) for value in values):
            raise PeopleError("this link lacks what Prolific adds to it; open the study there")
        return cls(*values)


def set_study(campaign: Campaign, study_id: str, code: str, most: int) -> ProlificStudy:
    """Make a campaign a study on Prolific, or change the study. Raises PeopleError."""
    if not ID.fullmatch(study_id):
        raise PeopleError("the study's id is the last part of its address on Prolific; correct it")
    if not CODE.fullmatch(code):
        raise PeopleError("the completion code is letters, digits, - and _; correct it")
    values = {"study_id": study_id, "completion_code": code, "most_people": most}
    with transaction.atomic():
        study, _ = ProlificStudy.objects.update_or_create(campaign=campaign, defaults=values)
        record("prolific.study", campaign.pk, study, after=values, people=most)
    return study


def enter(study: ProlificStudy, arrival: Arrival) -> User:
    """Return the account of a participant, created at the first arrival. Raises PeopleError.

    A person who comes again, even with another session, keeps the same account and items.
    """
    if arrival.study_id != study.study_id:
        raise PeopleError("this link belongs to another study; open the study on Prolific again")
    if not study.campaign.takes_answers:
        raise PeopleError("this study is closed; return your submission on Prolific")
    with transaction.atomic():
        # Concurrent arrivals wait here, so that no more are admitted than the study takes.
        ProlificStudy.objects.select_for_update().get(pk=study.pk)
        participant = study.participants.select_related("user").filter(pid=arrival.pid).first()
        with folded():
            user = (
                _readmit(study, participant, arrival)
                if participant
                else _create_guest(study, arrival)
            )
        record(
            "prolific.arrived", study.campaign_id, study, by=user.pk, again=participant is not None
        )
    return user


def _create_guest(study: ProlificStudy, arrival: Arrival) -> User:
    _check_room(study)
    name = "guest-" + "".join(secrets.choice(LETTERS) for _ in range(16))
    user = User(username=name, role=User.Role.ANNOTATOR, is_guest=True)
    user.set_unusable_password()
    user.save()
    rater_of(user)
    Membership.objects.create(campaign=study.campaign, user=user)
    Participant.objects.create(
        study=study, user=user, pid=arrival.pid, session_id=arrival.session_id
    )
    return user


def _readmit(study: ProlificStudy, participant: Participant, arrival: Arrival) -> User:
    same = participant.session_id == arrival.session_id
    if participant.status != Status.ACTIVE:
        if same:
            raise PeopleError("this submission has ended; reserve a new place on Prolific")
        _check_room(study)
        switch_on(participant.user)
        participant.status = Status.ACTIVE
    if not same:
        participant.session_id = arrival.session_id
    participant.save(update_fields=["status", "session_id"])
    if not participant.user.is_active:
        raise PeopleError("this submission has ended; write to the researcher on Prolific")
    return participant.user


def _check_room(study: ProlificStudy) -> None:
    if study.participants.filter(status=Status.ACTIVE).count() >= study.most_people:
        raise PeopleError("this study has all its people; return your submission on Prolific")


def end(participant: Participant, status: str) -> int:
    """Record that a person returned the study or ran out of time. Returns the leases released.

    Submitted answers stay. To leave them out, exclude the rater.
    """
    with transaction.atomic():
        Participant.objects.filter(pk=participant.pk).update(status=status)
        participant.status = status
        with folded():
            freed = release_all(participant.user, Ended.LEFT)
            switch_off(participant.user)
        campaign = participant.study.campaign_id
        record("prolific.ended", campaign, participant, status=status, places=freed)
    return freed


def completion(user: User, campaign: Campaign) -> dict[str, str] | None:
    """Return the completion code for a guest who is done, and the address that accepts it.

    Returns None for a guest whose part a researcher has ended.
    """
    rows = Participant.objects.filter(user=user, study__campaign=campaign, status=Status.ACTIVE)
    here = Membership.objects.filter(campaign=campaign, user=user, ended_at=None)
    rows = rows.filter(Exists(here))
    code = rows.values_list("study__completion_code", flat=True).first()
    return {"code": code, "address": COMPLETE.format(code=code)} if code else None


def participants(study: ProlificStudy) -> QuerySet[Participant]:
    """Return the participants, with their pseudonyms and the numbers of items done and reserved."""
    done = Q(user__rater__assignments__status="done")
    held = Q(user__rater__assignments__status="open", user__rater__assignments__slot__isnull=False)
    return study.participants.select_related("user__rater").annotate(
        done=Count("user__rater__assignments", filter=done),
        held=Count("user__rater__assignments", filter=held),
    )
