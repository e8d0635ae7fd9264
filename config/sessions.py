"""Sessions in the database, looked up at each request by SQL that is compiled once."""

from __future__ import annotations

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


class SessionStore(_Store):
    """Django's session store, with a faster look-up."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        found = _CURRENT.first(key=self.session_key, now=timezone.now())
        if found is None:
            self._session_key = None
            return None
        return found[0]
