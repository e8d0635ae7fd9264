"""Invitations: links that create one account each, or give an existing one a role in a campaign."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.models import Campaign, Invitation, Membership, User
from annotation.people.membership import AT_MOST, PeopleError, add_member, readable
from audit.recording import folded, record

LIFE = timedelta(days=7)
BYTES = 32
LONGEST_KEY = 200


@dataclass(frozen=True)
class Invited:
    """An invitation and its key, which is known here and now only."""

    invitation: Invitation
    key: str


class AccountError(PeopleError):
    """A name or password that cannot be: sentences by the name of the field."""

    def __init__(self, problems: dict[str, list[str]]) -> None:
        super().__init__(" ".join(each for found in problems.values() for each in found))
        self.problems = problems


def invite(
    role: str,
    campaign: Campaign | None = None,
    campaign_role: str = Membership.Role.ANNOTATOR,
    note: str = "",
    by: User | None = None,
) -> Invited:
    """Makes an invitation; nobody has invited where a command did. Raises PeopleError."""
    if by is not None:
        _check_inviter(by, role, campaign)
    if campaign is not None and campaign_role not in AT_MOST[role]:
        raise PeopleError(f"an account with the role {role} cannot be {campaign_role}; mend one")
    key = secrets.token_urlsafe(BYTES)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            digest=digest_of(key),
            role=role,
            campaign=campaign,
            campaign_role=campaign_role,
            note=" ".join(note.split())[:150],
            by=by,
            expires_at=timezone.now() + LIFE,
        )
        within = str(campaign_role) if campaign else None
        record("invitation.made", invitation.campaign_id, invitation, role=role, within=within)
    return Invited(invitation, key)


def _check_inviter(by: User, role: str, campaign: Campaign | None) -> None:
    """An admin invites whomever; a researcher annotators, to campaigns of theirs."""
    if by.role == User.Role.ADMIN:
        return
    if role != User.Role.ANNOTATOR or campaign is None:
        raise PeopleError("a researcher invites annotators to a campaign; ask an admin for more")
    if not readable(by).filter(pk=campaign.pk).exists():
        raise PeopleError("this campaign is not yours; name another")


def digest_of(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def invitation_of(key: str) -> Invitation | None:
    """The invitation behind a link's key, in whatever state it is."""
    if not key or len(key) > LONGEST_KEY:
        return None
    rows = Invitation.objects.select_related("campaign", "by")
    return rows.filter(digest=digest_of(key)).first()


def accept(invitation: Invitation, name: str, password: str) -> User:
    """Makes the account that an invitation is for, and uses it up; all or nothing.

    Raises AccountError where name or password cannot be, else PeopleError.
    """
    user = User(username=name, role=invitation.role)
    _check_account(user, password)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save()
            _use_up(invitation, user)
            _make_member(invitation, user)
            _tell_used(invitation, user, new=True)
    except IntegrityError as error:
        raise AccountError({"name": ["Somebody has this name already; choose another."]}) from error
    return user


def join(invitation: Invitation, user: User) -> None:
    """Gives an account that is there the invitation's role in its campaign, and uses it up."""
    if invitation.campaign is None:
        raise PeopleError("this link is for a new account; log out to make one")
    with transaction.atomic():
        _use_up(invitation, user)
        _make_member(invitation, user)
        _tell_used(invitation, user, new=False)


def _make_member(invitation: Invitation, user: User) -> None:
    if invitation.campaign is not None:
        with folded():
            add_member(invitation.campaign, user, invitation.campaign_role, invitation.by)


def _tell_used(invitation: Invitation, user: User, new: bool) -> None:
    record("invitation.used", invitation.campaign_id, invitation, by=user.pk, new_account=new)


def _use_up(invitation: Invitation, user: User) -> None:
    """One update decides: of two who come at once, one finds the link used."""
    _check_still_theirs(invitation)
    now = timezone.now()
    there = Invitation.objects.filter(
        pk=invitation.pk, used_at=None, revoked_at=None, expires_at__gt=now
    )
    if not there.update(used_at=now, used_by=user):
        raise PeopleError("this link was used or taken back just now; ask for a new one")


def _check_still_theirs(invitation: Invitation) -> None:
    """Whoever was put out of a campaign brings nobody in by a link from before."""
    by, campaign = invitation.by, invitation.campaign
    if by and campaign and not readable(by).filter(pk=campaign.pk).exists():
        raise PeopleError("whoever made this link has left the campaign; ask for a new one")


def _check_account(user: User, password: str) -> None:
    problems: dict[str, list[str]] = {}
    try:
        user.full_clean(exclude=["password"], validate_unique=False)
    except ValidationError as error:
        problems["name"] = [each for found in error.message_dict.values() for each in found]
    else:
        # Two names that differ in case only would be taken for one another.
        if User.objects.filter(username__iexact=user.username).exists():
            problems["name"] = ["Somebody has this name already; choose another."]
    try:
        validate_password(password, user)
    except ValidationError as error:
        problems["password"] = list(error.messages)
    if problems:
        raise AccountError(problems)


def revoke(invitation: Invitation) -> bool:
    """Takes an invitation back; False where it is used or taken back already."""
    there = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None)
    with transaction.atomic():
        revoked = bool(there.update(revoked_at=timezone.now()))
        if revoked:
            record("invitation.revoked", invitation.campaign_id, invitation)
    return revoked


def revoke_all_of(user: User) -> None:
    """Takes back what somebody promised who may no longer promise it."""
    open_ones = Invitation.objects.filter(by=user, used_at=None, revoked_at=None)
    open_ones.update(revoked_at=timezone.now())
