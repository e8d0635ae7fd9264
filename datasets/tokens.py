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

DAYS, MOST_DAYS = 365, 3650
MOST_TOKENS = 50
LONGEST_NOTE = Grant._meta.get_field("note").max_length


class TokenError(ValueError):
    """A token that cannot be made: what is wrong, and what to do."""


def make_token(
    user: Any, scopes: Collection[str] = (), days: int = DAYS, note: str = ""
) -> tuple[Grant, str]:
    """A new token of an account with its words, which nothing keeps. Raises TokenError.

    Without `scopes` it has the least that is of use to the account's role.
    """
    wanted = tuple(scopes) or LEAST.get(user.role, ())
    _check(user, wanted, days, note)
    with transaction.atomic():
        token, words = AuthToken.objects.create(user, expiry=timedelta(days=days))
        ordered = [each for each in MOST[user.role] if each in wanted]
        record("token.made", of=("account", user.pk), days=days)
        return Grant.objects.create(token=token, scopes=ordered, note=note), str(words)


def _check(user: Any, scopes: Collection[str], days: int, note: str) -> None:
    if not 1 <= days <= MOST_DAYS:
        raise TokenError(f"a token lasts from 1 to {MOST_DAYS} days; give another number")
    if not user.is_active:
        raise TokenError(f"the account {user.username!r} is switched off; no token would serve")
    if user.is_guest:
        raise TokenError("a guest has no token; invite the person to an account instead")
    useless = sorted(set(scopes) - set(MOST[user.role]))
    if useless:
        raise TokenError(
            f"an account with the role {user.role} has no use for the scope {useless[0]}; "
            f"choose of {', '.join(MOST[user.role])}"
        )
    if len(note) > (LONGEST_NOTE or 0):
        raise TokenError(f"a note has up to {LONGEST_NOTE} characters; shorten it")
    if tokens_of(user).filter(token__expiry__gt=timezone.now()).count() >= MOST_TOKENS:
        raise TokenError(f"this account has {MOST_TOKENS} tokens; take some back first")


def tokens_of(user: Any) -> QuerySet[Grant]:
    """An account's tokens, the newest first; none of them tells its words."""
    return Grant.objects.filter(token__user=user).select_related("token").order_by("-pk")


def take_back(grant: Grant) -> None:
    """Ends a token at once."""
    with transaction.atomic():
        AuthToken.objects.filter(pk=grant.token_id).delete()
        record("account.sessions", of=("account", grant.token.user_id), tokens=1)


def take_all_back(user: Any) -> int:
    with transaction.atomic():
        rows = AuthToken.objects.filter(user=user).delete()[1]
        count = int(rows.get(AuthToken._meta.label, 0))
        record("account.sessions", of=("account", user.pk), tokens=count)
    return count
