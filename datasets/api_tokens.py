"""API tokens: creating one with the scopes that a person granted, listing them, revoking them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from knox.models import AuthToken

from audit.recording import record
from datasets.api.permissions import LEAST, MOST
from datasets.models import Grant
from tandem.messages import Message

DAYS, MOST_DAYS = 365, 3650
MOST_TOKENS = 50
LONGEST_NOTE = Grant._meta.get_field("note").max_length


class TokenError(ValueError):
    """No token can be created; the message says why and what to do."""


def make_token(
    user: Any, scopes: Collection[str] = (), days: int = DAYS, note: str = ""
) -> tuple[Grant, str]:
    """Create a token; return it with its secret, which is not stored. Raises TokenError.

    Without `scopes`, the token has the smallest set that is useful to the account's role.
    """
    granted = tuple(scopes) or LEAST.get(user.role, ())
    _check(user, granted, days, note)
    with transaction.atomic():
        token, secret = AuthToken.objects.create(user, expiry=timedelta(days=days))
        ordered = [each for each in MOST[user.role] if each in granted]
        record("token.made", of=("account", user.pk), days=days)
        return Grant.objects.create(token=token, scopes=ordered, note=note), str(secret)


def _check(user: Any, scopes: Collection[str], days: int, note: str) -> None:
    if not 1 <= days <= MOST_DAYS:
        raise TokenError(f"a token is valid for 1 to {MOST_DAYS} days; choose another number")
    if not user.is_active:
        raise TokenError(f"the account {user.username!r} is disabled; enable it first")
    if user.is_guest:
        raise TokenError("a guest cannot have a token; invite the person to an account instead")
    useless = sorted(set(scopes) - set(MOST[user.role]))
    if useless:
        raise TokenError(
            f"an account with the role {user.role} has no use for the scope {useless[0]}; "
            f"choose from {', '.join(MOST[user.role])}"
        )
    if len(note) > (LONGEST_NOTE or 0):
        raise TokenError(f"a note has at most {LONGEST_NOTE} characters; shorten it")
    if valid_tokens_of(user).count() >= MOST_TOKENS:
        raise TokenError(
            Message("this account has %(most)s tokens; revoke some first", most=MOST_TOKENS)
        )


def tokens_of(user: Any) -> QuerySet[Grant]:
    """Return an account's tokens, newest first, without their secrets."""
    return Grant.objects.filter(token__user=user).select_related("token").order_by("-pk")


def valid_tokens_of(user: Any) -> QuerySet[Grant]:
    return tokens_of(user).filter(token__expiry__gt=timezone.now())


def revoke(grant: Grant) -> None:
    """Revoke a token at once."""
    with transaction.atomic():
        AuthToken.objects.filter(pk=grant.token_id).delete()
        record("account.sessions", of=("account", grant.token.user_id), tokens=1)


def revoke_all(user: Any) -> int:
    """Revoke all tokens of an account; return their number."""
    with transaction.atomic():
        rows = AuthToken.objects.filter(user=user).delete()[1]
        count = int(rows.get(AuthToken._meta.label, 0))
        record("account.sessions", of=("account", user.pk), tokens=count)
    return count
