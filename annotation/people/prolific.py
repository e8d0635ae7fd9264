"""Studies on Prolific: people who arrive by a signed link, and the code with which they return.

Prolific's parameters identify a person. Without a signature anybody can invent them, so they give
no access to an existing participant. A person returns to their own items in the browser in which
they began, which has a cookie, by a signed link, or after a researcher has opened the study for
them once more.

A study with *secure URL parameters* adds `prolific_token` to its link, a JSON Web Token (RS256).
Its claim `prolific` holds the parameters of the link, and `aud` names the site. The keys are
published as a JSON Web Key Set. They are kept for a day. Since keys rotate, an unknown key causes
another fetch, but at most one per minute, since anybody can make up a key's name.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import jwt
import requests
from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Count, Exists, Q, QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

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
from tandem.messages import Message

TOKEN = "prolific_token"
ALGORITHM = "RS256"
FRESH, STALE, PAUSE = 24 * 3600, 7 * 24 * 3600, 60
"""Seconds for which keys count as new, for which they are used if no others can be fetched, and
between two attempts to fetch them."""
TIMEOUT, MOST_BYTES = 5, 100_000
LEEWAY = 60
LONGEST = 8_192
UNREADABLE = Message(
    "Prolific’s signature of this link is not valid; open the study on Prolific again"
)
TOO_OLD = Message("this link has expired; open the study on Prolific again")


class KeysAwayError(PeopleError):
    """Prolific's keys cannot be fetched at the moment."""

    def __init__(self) -> None:
        super().__init__(
            Message("Prolific’s keys cannot be fetched right now; try again in a minute")
        )


class Keys:
    """The keys at an address. Safe for threads: one fetches while the others wait."""

    def __init__(self, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.address, self.clock = address, clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = float("-inf")
        self._lock = threading.Lock()

    def find(self, name: str) -> jwt.PyJWK:
        """Return the key of this name. Raises KeysAwayError, or PeopleError for an unknown key."""
        with self._lock:
            now = self.clock()
            known = name in self._keys and now - self._fetched < FRESH
            if not known and now - self._tried >= PAUSE:
                self._tried = now
                self._fetch(now)
            if name in self._keys and now - self._fetched < STALE:
                return self._keys[name]
            if self._fetched < self._tried:
                raise KeysAwayError
        raise PeopleError(UNREADABLE)

    def _fetch(self, now: float) -> None:
        try:
            with requests.get(self.address, timeout=TIMEOUT, stream=True) as answer:
                answer.raise_for_status()
                body = answer.raw.read(MOST_BYTES, decode_content=True)
        except (requests.RequestException, ValueError, OSError):
            return
        try:
            found = jwt.PyJWKSet.from_json(body.decode("utf-8")).keys
        except (jwt.PyJWTError, ValueError, AttributeError, TypeError):
            # PyJWT assumes that the set and each key in it are JSON objects with strings as values.
            return
        self._keys = {key.key_id: key for key in found if key.key_id and key.key_type == "RSA"}
        self._fetched = now


_keys: dict[str, Keys] = {}


def published_keys() -> Keys:
    """Return the keys at `settings.TANDEM_PROLIFIC_KEYS`, which all requests of a process share."""
    address = settings.TANDEM_PROLIFIC_KEYS
    return _keys.setdefault(address, Keys(address))


def parameters_of(token: str, host: str, keys: Keys | None = None) -> Mapping[str, str]:
    """Return the link's parameters that a token certifies for this site.

    `host` is the site's host, as the link has it. Raises PeopleError.
    """
    if not token or len(token) > LONGEST:
        raise PeopleError(
            Message("this link lacks Prolific’s signature; open the study there again")
        )
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") != ALGORITHM or not isinstance(header.get("kid"), str):
            raise PeopleError(UNREADABLE)
        claims = jwt.decode(
            token,
            (keys or published_keys()).find(header["kid"]),
            algorithms=[ALGORITHM],
            leeway=LEEWAY,
            # The audience is compared below, since it may be a host or a whole address.
            options={"require": ["exp", "aud"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError as error:
        raise PeopleError(TOO_OLD) from error
    except jwt.PyJWTError as error:
        raise PeopleError(UNREADABLE) from error
    if not _is_for(claims["aud"], host):
        raise PeopleError(Message("Prolific signed this link for another site; ask the researcher"))
    return _strings(claims.get("prolific"))


def _is_for(audience: Any, host: str) -> bool:
    named = audience if isinstance(audience, list) else [audience]
    return any(isinstance(each, str) and _host(each) == host.lower() for each in named)


def _host(audience: str) -> str:
    return urlsplit(audience if "://" in audience else f"//{audience}").netloc.lower()


def _strings(found: Any) -> Mapping[str, str]:
    if not isinstance(found, dict):
        raise PeopleError(UNREADABLE)
    return {name: value for name, value in found.items() if isinstance(value, str)}


Status = Participant.Status
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
COMPLETE = "https://app.prolific.com/submissions/complete?cc={code}"
NAMES = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
ELSEWHERE = Message(
    "you have begun this study in another browser, so continue there; if you cannot, write to the "
    "researcher on Prolific"
)
COOKIE, COOKIE_LIFE, MOST_STUDIES = "participant", timedelta(days=90), 20
OPEN_FOR = timedelta(days=1)
"""How much time a participant has to come back in another browser, once a researcher allows it."""
PAGE_LIFE = timedelta(hours=4)
"""How long the page before the start may be read; Prolific's own signature expires earlier."""
ENTRY = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


@dataclass(frozen=True)
class Arrival:
    """The three parameters of Prolific's link, and whether Prolific has `signed` them."""

    pid: str
    study_id: str
    session_id: str
    signed: bool = False

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> Arrival:
        """Read the plain parameters. Raises PeopleError if one is missing or malformed."""
        pid, study_id, session_id = (parameters.get(name, "") for name in NAMES)
        if not all(map(ID.fullmatch, (pid, study_id, session_id))):
            raise PeopleError(
                Message("this link lacks what Prolific adds to it; open the study there")
            )
        return cls(pid, study_id, session_id)

    @classmethod
    def read_signed(cls, parameters: Mapping[str, str], host: str) -> Arrival:
        """Read the parameters from Prolific's token.

        Raises PeopleError if the token is invalid, or contradicts the plain parameters.
        """
        vouched = parameters_of(parameters.get(TOKEN, ""), host)
        found = cls.read(vouched)
        if any(parameters.get(name, vouched[name]) != vouched[name] for name in NAMES):
            raise PeopleError(Message("this link was changed; open the study on Prolific again"))
        return cls(found.pid, found.study_id, found.session_id, signed=True)

    def sealed(self) -> str:
        """Return a signed arrival for the form on the page, since Prolific's token expires soon."""
        return signing.dumps([self.pid, self.study_id, self.session_id], salt="tandem.arrival")

    @classmethod
    def unseal(cls, text: str) -> Arrival:
        try:
            pid, study_id, session_id = signing.loads(
                text, salt="tandem.arrival", max_age=PAGE_LIFE
            )
        except signing.BadSignature as error:
            raise PeopleError(
                Message("this page is too old; open the study on Prolific again")
            ) from error
        return cls(pid, study_id, session_id, signed=True)


def set_study(
    campaign: Campaign, study_id: str, code: str, most: int, signed: bool = False
) -> ProlificStudy:
    """Make a campaign a study on Prolific, or change the study. Raises PeopleError."""
    if not ID.fullmatch(study_id):
        raise PeopleError("the study's id is the last part of its address on Prolific; correct it")
    if not CODE.fullmatch(code):
        raise PeopleError("the completion code is letters, digits, - and _; correct it")
    values = {
        "study_id": study_id, "completion_code": code, "most_people": most, "signed": signed,
    }  # fmt: skip
    with transaction.atomic():
        study, _ = ProlificStudy.objects.update_or_create(campaign=campaign, defaults=values)
        record("prolific.study", campaign.pk, study, after=values, people=most, signed=signed)
    return study


def enter(
    study: ProlificStudy, arrival: Arrival, browser: frozenset[int] = frozenset()
) -> Participant:
    """Return the participant, created with an account at the first arrival. Raises PeopleError.

    A person who comes again keeps the same account and items. `browser` is the list of participants
    who have come in this browser before.
    """
    if study.signed and not arrival.signed:
        raise PeopleError(
            Message("this study takes links that Prolific has signed; open it there again")
        )
    if arrival.study_id != study.study_id:
        raise PeopleError(
            Message("this link belongs to another study; open the study on Prolific again")
        )
    if not study.campaign.takes_answers:
        raise PeopleError(Message("this study is closed; return your submission on Prolific"))
    with transaction.atomic():
        # Concurrent arrivals wait here, so that no more are admitted than the study takes.
        ProlificStudy.objects.select_for_update().get(pk=study.pk)
        participant = study.participants.select_related("user").filter(pid=arrival.pid).first()
        with folded():
            if participant is None:
                found = _create_guest(study, arrival)
            else:
                _check_identity(participant, arrival, browser)
                found = _readmit(study, participant, arrival)
        again = participant is not None
        record("prolific.arrived", study.campaign_id, study, by=found.user.pk, again=again)
    return found


def _check_identity(participant: Participant, arrival: Arrival, browser: frozenset[int]) -> None:
    """Check that a returning person is the same participant. Raises PeopleError."""
    if arrival.signed or participant.pk in browser:
        return
    if participant.open_until is None or participant.open_until < timezone.now():
        raise PeopleError(ELSEWHERE)


def open_once(participant: Participant) -> None:
    """Let a participant come in another browser, once, within a day."""
    with transaction.atomic():
        until = timezone.now() + OPEN_FOR
        Participant.objects.filter(pk=participant.pk).update(open_until=until)
        record("prolific.opened", participant.study.campaign_id, participant)


def _create_guest(study: ProlificStudy, arrival: Arrival) -> Participant:
    _check_room(study)
    name = "guest-" + "".join(secrets.choice(LETTERS) for _ in range(16))
    user = User(username=name, role=User.Role.ANNOTATOR, is_guest=True)
    user.set_unusable_password()
    user.save()
    rater_of(user)
    Membership.objects.create(campaign=study.campaign, user=user)
    return Participant.objects.create(
        study=study, user=user, pid=arrival.pid, session_id=arrival.session_id
    )


def _readmit(study: ProlificStudy, participant: Participant, arrival: Arrival) -> Participant:
    same = participant.session_id == arrival.session_id
    if participant.status != Status.ACTIVE:
        if same:
            raise PeopleError(Message("this submission has ended; reserve a new place on Prolific"))
        _check_room(study)
        switch_on(participant.user)
        participant.status = Status.ACTIVE
    if not same:
        participant.session_id = arrival.session_id
    participant.open_until = None
    participant.save(update_fields=["status", "session_id", "open_until"])
    if not participant.user.is_active:
        raise PeopleError(Message("this submission has ended; write to the researcher on Prolific"))
    return participant


def participants_in(request: HttpRequest) -> frozenset[int]:
    """Return the participants who have come in this browser, by its cookie and its log-in."""
    mine = Participant.objects.filter(user=request.user.pk).values_list("pk", flat=True)
    return frozenset([*_read_cookie(request), *mine])


def _read_cookie(request: HttpRequest) -> list[int]:
    sent = request.COOKIES.get(COOKIE, "")
    try:
        return list(signing.loads(sent, salt="tandem.participants", max_age=COOKIE_LIFE))
    except signing.BadSignature:
        return []


def mark_browser(
    request: HttpRequest, response: HttpResponseBase, participant: Participant, secure: bool
) -> None:
    """Give the browser the cookie by which its participants come back."""
    known = [pk for pk in _read_cookie(request) if pk != participant.pk]
    response.set_cookie(
        COOKIE,
        signing.dumps([participant.pk, *known][:MOST_STUDIES], salt="tandem.participants"),
        max_age=COOKIE_LIFE,
        path="/prolific/",
        secure=secure,
        httponly=True,
        samesite="Lax",
    )


def _check_room(study: ProlificStudy) -> None:
    if study.participants.filter(status=Status.ACTIVE).count() >= study.most_people:
        raise PeopleError(
            Message("this study has all its people; return your submission on Prolific")
        )


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
