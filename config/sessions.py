"""Sessions in the database under digests of their keys, looked up by SQL that is compiled once.

The key is in the browser's cookie only, so whoever reads the database or a backup of it cannot log
in as somebody else.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import models
from django.utils import timezone

from datasets.db.prepared import Parameter, PreparedModels, columns_of

_Store: Any = db.SessionStore
_CURRENT = PreparedModels(
    lambda: Session.objects.filter(
        session_key=Parameter("key", models.CharField()),
        expire_date__gt=Parameter("now", models.DateTimeField()),
    ),
    {"": columns_of(Session)},
)
LENGTH = 40
"""The width of Django's column. Its keys are shorter, which tells them from digests."""


def digest_of_key(key: str) -> str:
    """Return the first 160 bits of a key's SHA-256 in hex, about as many as the key itself has."""
    return hashlib.sha256(key.encode()).hexdigest()[:LENGTH]


class SessionStore(_Store):
    """Django's session store, with digests instead of keys and a faster look-up.

    Each method that reaches the table replaces the key by its digest. Those that Django calls with
    `await` do the same.
    """

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        found = _CURRENT.first(key=digest_of_key(self.session_key), now=timezone.now())
        if found is None:
            self._session_key = None
            return None
        return found[0]

    async def _aget_session_from_db(self) -> Session | None:
        digest = digest_of_key(self.session_key)
        current = Session.objects.filter(session_key=digest, expire_date__gt=timezone.now())
        found = await current.afirst()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return bool(super().exists(digest_of_key(session_key)))

    async def aexists(self, session_key: str) -> bool:
        return bool(await super().aexists(digest_of_key(session_key)))

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        return _under_digest(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> Session:
        return _under_digest(await super().acreate_model_instance(data))

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(digest_of_key(key))

    async def adelete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            await super().adelete(digest_of_key(key))


def _under_digest(row: Session) -> Session:
    row.session_key = digest_of_key(row.session_key)
    return row
