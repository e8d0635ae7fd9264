"""Ways in beside passwords: accounts of an identity provider, and an admin's links.

An identity belongs to an account by the provider's name for the person (`sub`), and never by a
claim that the person can choose. It is linked once: by a verified e-mail address that an admin has
entered for the account, by an invitation, by its owner while logged in, or with a new account, if
newcomers get any. Only a digest of the provider's name for the person is stored, and no other
claim.

They serve where local passwords are switched off or an identity provider is away. A second factor
is still asked for. The link becomes invalid with the next log-in, a new password or a new role.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.signals import social_account_added
from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.dispatch import receiver
from django.utils.crypto import constant_time_compare, salted_hmac

from annotation.models import Invitation, User
from annotation.people.invitations import accept_identity, join
from annotation.people.membership import PeopleError
from audit.recording import record
from datasets.text import number_in
from tandem.messages import Message

PROVIDER = "sso"
NOBODY = "none"
NOT_ALLOWED = re.compile(r"[^\w.@+-]")
LONGEST_NAME = 100
UNKNOWN = Message(
    "this site has no account for you; ask an administrator for an invitation, and open it before "
    "you log in here"
)

TAKEN = "another account has this e-mail address; remove it there first"


@dataclass(frozen=True)
class Identity:
    """A person of the identity provider. `email` is empty unless the provider has verified it."""

    uid: str
    email: str
    name: str


def identity_of(claims: Mapping[str, Any], issuer: str) -> Identity:
    """Return the identity that verified claims are about. Raises PeopleError."""
    sub, email = claims.get("sub"), claims.get("email")
    if not isinstance(sub, str) or not sub:
        raise PeopleError(
            Message("the identity provider does not say who you are; ask an administrator")
        )
    # Subjects are unique within one issuer only, and a site may change its issuer.
    uid = sha256(f"{issuer}\0{sub}".encode()).hexdigest()
    verified = claims.get("email_verified") in (True, "true")
    address = email.strip() if verified and isinstance(email, str) else ""
    return Identity(uid, normalize_address(address), _name(claims))


def normalize_address(address: str) -> str:
    """Return an address in lower case, and an empty string if it has letters beyond ASCII.

    Some letters, such as the Kelvin sign and the dotless i, become ASCII letters when their case is
    changed, so one person's address would become another person's.
    """
    return address.lower() if address.isascii() else ""


def nonce_of(state: str) -> str:
    """Return the nonce that an ID token must contain for the log-in that began with `state`.

    So a code that was issued for another browser's log-in is useless here, even if the provider
    does not check PKCE.
    """
    return salted_hmac("tandem.oidc.nonce", state, algorithm="sha256").hexdigest()


def check_nonce(said: object, state: str) -> None:
    """Raise PeopleError if an ID token was not issued for the log-in that began with `state`."""
    if not isinstance(said, str) or not constant_time_compare(said, nonce_of(state)):
        raise PeopleError(
            Message("the identity provider's answer belongs to another log-in; log in again")
        )


def _name(claims: Mapping[str, Any]) -> str:
    said = claims.get("preferred_username") or str(claims.get("email") or "").partition("@")[0]
    return NOT_ALLOWED.sub("", str(said))[:LONGEST_NAME] or "person"


def account_for(identity: Identity, invitation: Invitation | None) -> User:
    """Return the account for a new identity, creating it if that is allowed.

    Call it in the transaction that links the two. Raises PeopleError if the person may have no
    account.
    """
    if found := _by_email(identity.email):
        take_part(invitation, found)
        return found
    if invitation is not None:
        return accept_identity(invitation, _free_name(identity.name))
    role = settings.TANDEM_OIDC_NEWCOMERS
    if role == NOBODY:
        raise PeopleError(UNKNOWN)
    user = User(username=_free_name(identity.name), role=role)
    user.set_unusable_password()
    with transaction.atomic():
        user.save()
        record("account.made", of=("account", user.pk), role=role, how="oidc")
    return user


def take_part(invitation: Invitation | None, user: User) -> None:
    """Give an existing account the role that an invitation offers in a campaign or team."""
    if invitation is not None and (invitation.campaign or invitation.team):
        join(invitation, user)


def _by_email(email: str) -> User | None:
    """Return the account with this address, if no identity belongs to it yet.

    If the provider later gives the address to another person, that person must not get the account.
    """
    rows = EmailAddress.objects.filter(email=email, verified=True) if email else ()
    users = [row.user for row in rows]
    if len(users) != 1 or SocialAccount.objects.filter(user=users[0]).exists():
        return None
    return users[0]


def _free_name(name: str) -> str:
    taken = set(User.objects.filter(username__istartswith=name).values_list("username", flat=True))
    taken = {each.lower() for each in taken}
    candidates = [name, *(f"{name}{n}" for n in range(2, len(taken) + 3))]
    return next(each for each in candidates if each.lower() not in taken)


def check_connectable(identity: Identity, user: User) -> None:
    """Check that an account may be linked with an identity. Raises PeopleError."""
    if user.is_guest:
        raise PeopleError(Message("a guest of a study has no log-in; log out first"))
    owner = SocialAccount.objects.filter(uid=identity.uid).first()
    if owner is not None and owner.user_id != user.pk:
        raise PeopleError(
            Message("this log-in belongs to another account here; log in with it instead")
        )
    if owner is None and SocialAccount.objects.filter(user=user).exists():
        raise PeopleError(
            Message("your account is linked with another log-in; remove that link first")
        )


@receiver(social_account_added)
def _record_link(sender: Any, sociallogin: Any, **more: Any) -> None:
    record("identity.linked", of=("account", sociallogin.user.pk), by=sociallogin.user.pk)


def is_linked(user: User) -> bool:
    return SocialAccount.objects.filter(user=user).exists()


def unlink(user: User) -> bool:
    """Remove the links of an account with identities. Returns False if there were none."""
    with transaction.atomic():
        found = bool(SocialAccount.objects.filter(user=user).delete()[0])
        if found:
            record("identity.unlinked", of=("account", user.pk))
    return found


def email_of(user: User) -> str:
    """Return the address by which an identity may be linked with an account, or an empty string."""
    return EmailAddress.objects.filter(user=user).values_list("email", flat=True).first() or ""


def set_email(user: User, email: str) -> None:
    """Enter the address of an account's owner, or remove it if it is empty. Raises PeopleError.

    The person who logs in at the identity provider with this verified address gets the account.
    """
    address = email.strip().lower()
    if not email.isascii():
        raise PeopleError("an address has ASCII letters only, also its domain; correct it")
    if user.is_guest:
        raise PeopleError("a guest has no log-in; invite the person to an account instead")
    if address:
        try:
            validate_email(address)
        except ValidationError as error:
            raise PeopleError("this is not an e-mail address; correct it") from error
    try:
        with transaction.atomic():
            EmailAddress.objects.filter(user=user).delete()
            if address:
                EmailAddress.objects.create(user=user, email=address, verified=True, primary=True)
            record("account.email", of=("account", user.pk), set=bool(address))
    except IntegrityError as error:
        raise PeopleError(TAKEN) from error


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
