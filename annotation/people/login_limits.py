"""Limits on guessing passwords and codes, and the known browsers that need not wait for others.

Ten wrong passwords close log-in for the pair of account and address, first for a minute and then
for longer and longer. Elsewhere the account stays open, so a stranger locks nobody out. A browser
from which the account has logged in before has a cookie. It is counted separately, and other
people's guesses do not make it wait (OWASP calls this a device cookie). Guesses from many addresses
are slowed down together, by account and by address, but never blocked.

Each guess is counted before it is checked, by one conditional update, so guesses at the same moment
cannot exceed a limit. A correct password takes its count back. A guess during a wait is neither
checked nor counted.

It holds a random key for each of the last accounts, signed, beside a digest of the account's name.
The cookie logs nobody in. A thief of it can try passwords for these accounts only as often as
anybody at the log-in page (`annotation.people.login_limits`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.db import transaction
from django.db.models import F, Q
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.models import LogInCount, User
from audit.recording import record
from datasets.access import client_address

Kind = LogInCount.Kind
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MINUTES = (1, 2, 4, 8, 16, 32, 60)
WAITS = tuple(timedelta(minutes=each) for each in MINUTES)
KNOWN_FOR = timedelta(days=180)
"""How long a site remembers an address or a browser from which an account has logged in."""
PASSWORD_KINDS = (Kind.ADDRESS, Kind.DEVICE, Kind.ACCOUNT)
CODE_KINDS = (Kind.CODE, Kind.CODES)


@dataclass(frozen=True)
class Limit:
    """How many wrong guesses are free (`settings.LOGIN_TRIES`), and the waits after them.

    The last wait holds for all further guesses. The count is forgotten `window` after the last
    guess if `from_last`, otherwise after the first.
    """

    waits: tuple[timedelta, ...]
    window: timedelta
    from_last: bool = False


LIMITS: dict[str, Limit] = {
    Kind.ADDRESS: Limit(WAITS, DAY, from_last=True),
    Kind.DEVICE: Limit(WAITS, DAY, from_last=True),
    Kind.ACCOUNT: Limit((timedelta(minutes=1),), DAY),
    Kind.NETWORK: Limit((timedelta(seconds=10),), HOUR),
    Kind.CODE: Limit(WAITS, DAY, from_last=True),
    Kind.CODES: Limit((timedelta(minutes=10),), DAY),
}


@dataclass(frozen=True)
class Guess:
    """Where a guess at an account comes from. `device` is the browser's own key, if it has one."""

    account: str
    address: str
    device: str = ""

    def passwords(self) -> list[tuple[str, str, str]]:
        """Return the counts of a wrong password: kind, account and source, as they are stored."""
        name = digest_of(self.account)
        if self.device:
            return [(Kind.DEVICE, name, digest_of(self.device))]
        source = network_of(self.address)
        counts = [(Kind.ADDRESS, name, source)]
        if not _is_known(name, source):
            counts.append((Kind.ACCOUNT, name, ""))
        return [*counts, (Kind.NETWORK, "", source)]

    def codes(self) -> list[tuple[str, str, str]]:
        """Return the counts of a wrong code, of the second factor."""
        name = digest_of(self.account)
        source = digest_of(self.device) if self.device else network_of(self.address)
        return [(Kind.CODE, name, source), (Kind.CODES, name, "")]


Counts = Sequence[tuple[str, str, str]]


def digest_of(text: str) -> str:
    return salted_hmac("tandem.login", text, algorithm="sha256").hexdigest()[:32]


def network_of(address: str) -> str:
    """Return the digest of an address, or of its /64 network in IPv6, since that has one owner."""
    try:
        found = ip_address(address)
    except ValueError:
        return digest_of(address)
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    network = ip_network((found, 64), strict=False) if found.version == 6 else found
    return digest_of(str(network))


def _is_known(account: str, source: str) -> bool:
    rows = LogInCount.objects.filter(kind=Kind.KNOWN, account=account, source=source)
    return rows.filter(last_at__gt=timezone.now() - KNOWN_FOR).exists()


class _TooManyError(Exception):
    """A limit is reached, so nothing is counted."""


def take(counts: Counts, now: datetime) -> timedelta:
    """Count a guess before its check. Returns zero, or, if the guess may not be made, how long to
    wait.
    """
    try:
        with transaction.atomic():
            for kind, account, source in counts:
                if not _count_guess(kind, account, source, now):
                    raise _TooManyError
    except _TooManyError:
        return max(wait(counts, now), timedelta(seconds=1))
    return timedelta(0)


def _count_guess(kind: str, account: str, source: str, now: datetime) -> bool:
    limit, free = LIMITS[kind], settings.LOGIN_TRIES[kind]
    row, _ = LogInCount.objects.get_or_create(
        kind=kind, account=account, source=source, defaults={"since": now, "last_at": now}
    )
    mine = LogInCount.objects.filter(pk=row.pk)
    mine.filter(**{f"{_window_field(limit)}__lte": now - limit.window}).update(wrong=0, since=now)
    may = Q(wrong__lt=free) | Q(last_at__lte=now - limit.waits[-1])
    for n, each in enumerate(limit.waits):
        may |= Q(wrong=free + n, last_at__lte=now - each)
    return bool(mine.filter(may).update(wrong=F("wrong") + 1, last_at=now))


def _window_field(limit: Limit) -> str:
    return "last_at" if limit.from_last else "since"


def wait(counts: Counts, now: datetime) -> timedelta:
    """Return how long it is until the next guess may be made, zero if at once."""
    waits = [_wait(row, now) for row in _rows(counts)]
    return max([*waits, timedelta(0)])


def _wait(row: LogInCount, now: datetime) -> timedelta:
    limit, over = LIMITS[row.kind], row.wrong - settings.LOGIN_TRIES[row.kind]
    if over < 0 or getattr(row, _window_field(limit)) <= now - limit.window:
        return timedelta(0)
    return row.last_at + limit.waits[min(over, len(limit.waits) - 1)] - now


def _rows(counts: Counts) -> list[LogInCount]:
    condition = Q(pk=None)
    for kind, account, source in counts:
        condition |= Q(kind=kind, account=account, source=source)
    return list(LogInCount.objects.filter(condition))


def give_back(counts: Counts) -> None:
    """Take back the count of a correct guess, and forget the pair's earlier wrong ones."""
    for kind, account, source in counts:
        rows = LogInCount.objects.filter(kind=kind, account=account, source=source)
        if LIMITS[kind].from_last:
            rows.delete()
        else:
            rows.filter(wrong__gt=0).update(wrong=F("wrong") - 1)


def remember(account: str, address: str) -> None:
    """Remember that an account has logged in from an address, and delete expired counts."""
    now = timezone.now()
    old = Q(kind=Kind.KNOWN, last_at__lt=now - KNOWN_FOR)
    old |= Q(last_at__lt=now - 2 * DAY) & ~Q(kind=Kind.KNOWN)
    LogInCount.objects.filter(old).delete()
    key = {"kind": Kind.KNOWN, "account": digest_of(account), "source": network_of(address)}
    row, created = LogInCount.objects.get_or_create(**key, defaults={"since": now, "last_at": now})
    if not created and row.last_at < now - DAY:
        LogInCount.objects.filter(pk=row.pk).update(last_at=now)


@dataclass(frozen=True)
class Status:
    """The wrong passwords and codes that still count against an account, and their sources.

    `closed_until` is when the last source may try again; None if all may. If `slowed`, guesses from
    all unknown sources together are slowed down.
    """

    wrong: int
    places: int
    closed_until: datetime | None
    slowed: bool


def status(user: User) -> Status | None:
    """Return what counts against log-ins of an account, or None."""
    return statuses([user]).get(user.pk)


def statuses(users: Iterable[User]) -> dict[int, Status]:
    """Return what counts against log-ins of accounts, by account, for those that have any."""
    now, by_digest = timezone.now(), {digest_of(user.username): user.pk for user in users}
    rows: dict[int, list[LogInCount]] = {}
    counting = LogInCount.objects.filter(kind__in=PASSWORD_KINDS + CODE_KINDS, wrong__gt=0)
    for row in counting.filter(last_at__gt=now - DAY):
        if row.account in by_digest:
            rows.setdefault(by_digest[row.account], []).append(row)
    return {pk: _status(found, now) for pk, found in rows.items()}


def _status(rows: Sequence[LogInCount], now: datetime) -> Status:
    together = (Kind.ACCOUNT, Kind.CODES)
    apart = [row for row in rows if row.kind not in together]
    waits = [found for row in apart if (found := _wait(row, now)) > timedelta(0)]
    slowed = any(row.wrong >= settings.LOGIN_TRIES[row.kind] for row in rows if row not in apart)
    until = now + max(waits) if waits else None
    return Status(sum(row.wrong for row in apart), len(apart), until, slowed)


def unlock(user: User) -> bool:
    """Forget all wrong passwords and codes of an account. Returns False if there were none."""
    rows = LogInCount.objects.filter(account=digest_of(user.username)).exclude(kind=Kind.KNOWN)
    with transaction.atomic():
        found = bool(rows.delete()[0])
        if found:
            record("login.unlocked", of=("account", user.pk))
    return found


def unlock_all() -> int:
    """Forget all wrong passwords and codes. Returns the number of counts."""
    with transaction.atomic():
        found = LogInCount.objects.exclude(kind=Kind.KNOWN).delete()[0]
        record("login.unlocked", counts=found)
    return found


def forget(user: User) -> None:
    """Forget everything that is stored about log-ins of an account."""
    LogInCount.objects.filter(account=digest_of(user.username)).delete()


COOKIE, SALT, PATH = "device", "tandem.devices", "/login/"
MOST = 10
"""A browser in a computer room remembers this many accounts."""


def guess_of(request: HttpRequest, account: str) -> Guess:
    """Return where an attempt to log in comes from."""
    return Guess(account, client_address(request), device_of(request, account))


def accept_password(request: HttpRequest, user: User) -> None:
    """Undo the count of an attempt, since its password was correct."""
    give_back(guess_of(request, user.username).passwords())


def device_of(request: HttpRequest, account: str) -> str:
    """Return the browser's key for an account; empty if it has not logged in from this browser."""
    digest = digest_of(account)
    return next((key for name, key in _read(request) if name == digest), "")


def _read(request: HttpRequest) -> list[tuple[str, str]]:
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=KNOWN_FOR)
    except signing.BadSignature:
        return []
    return [(name, key) for name, key in found]


@receiver(user_logged_in)
def _note(sender: Any, request: Any, user: User, **more: Any) -> None:
    # A guest has no password to guess.
    if request is not None and not user.is_guest:
        request.logged_in_now = user
        remember(user.username, client_address(request))


def devices(handle: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., object]:
    """Give the browser its cookie when somebody has logged in."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        response = handle(request)
        user = getattr(request, "logged_in_now", None)
        if user is not None:
            _write(request, response, user.username)
        return response

    return handled


def _write(request: HttpRequest, response: HttpResponseBase, account: str) -> None:
    key = device_of(request, account) or secrets.token_urlsafe(12)
    others = [each for each in _read(request) if each[0] != digest_of(account)]
    response.set_cookie(
        COOKIE,
        signing.dumps([(digest_of(account), key), *others][:MOST], salt=SALT),
        max_age=KNOWN_FOR,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
