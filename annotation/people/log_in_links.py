"""Links that log one account in, once, within ten minutes: the way in for an admin at the server.

They serve where local passwords are switched off or an identity provider is away. A second factor
is still asked for. The link becomes invalid with the next log-in, a new password or a new role.
"""

from __future__ import annotations

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from annotation.models import User
from annotation.people.membership import PeopleError
from audit.recording import record
from datasets.text import number_in


class _Keys(PasswordResetTokenGenerator):
    key_salt = "tandem.log-in-links"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        ends = f"{user.last_login}\0{user.role}\0{user.sessions}"
        return f"{user.pk}\0{user.password}\0{ends}\0{timestamp}"


_keys = _Keys()


def log_in_key(user: User) -> str:
    """Return the key of a new link. Raises PeopleError for a guest or a disabled account."""
    if user.is_guest or not user.is_active:
        raise PeopleError("this account cannot log in; enable it first, or name another")
    record("login.link", of=("account", user.pk))
    return f"{user.pk}-{_keys.make_token(user)}"


def account_of(key: str) -> User | None:
    """Return the account that a link logs in, or None if the link is no longer valid."""
    number, _, token = key.partition("-")
    user = User.objects.filter(pk=number_in(number), is_active=True, is_guest=False).first()
    return user if user is not None and _keys.check_token(user, token) else None
