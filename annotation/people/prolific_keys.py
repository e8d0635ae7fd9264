"""Links that Prolific signs: its published keys, and the contents of its tokens.

A study with *secure URL parameters* adds `prolific_token` to its link, a JSON Web Token (RS256).
Its claim `prolific` holds the parameters of the link, and `aud` names the site. The keys are
published as a JSON Web Key Set. They are kept for a day. Since keys rotate, an unknown key causes
another fetch, but at most one per minute, since anybody can make up a key's name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import jwt
import requests
from django.conf import settings

from annotation.people.membership import PeopleError
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
