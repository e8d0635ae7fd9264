"""Invitations: links that create one account each, or give an existing one a role in a campaign."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.models import Campaign, Invitation, Membership, User
from annotation.people.membership import AT_MOST, PeopleError, add_member, may_manage
from annotation.people.teams import set_role
from audit.recording import folded, record
from datasets.access import managed_teams
from datasets.models import Team, TeamMember
from tandem.messages import Message

LIFE = timedelta(days=7)
BYTES = 32
MAX_KEY_LENGTH = 200


@dataclass(frozen=True)
class NewInvitation:
    """A new invitation and its key, which is not stored."""

    invitation: Invitation
    key: str


class AccountError(PeopleError):
    """The name or password is not allowed. `problems` are sentences by the field's name."""

    def __init__(self, problems: dict[str, list[str]]) -> None:
        super().__init__(" ".join(each for found in problems.values() for each in found))
        self.problems = problems


def invite(
    role: str,
    campaign: Campaign | None = None,
    campaign_role: str = Membership.Role.ANNOTATOR,
    note: str = "",
    by: User | None = None,
    team: Team | None = None,
) -> NewInvitation:
    """Create an invitation. `by` is None for a command. Raises PeopleError."""
    if by is not None:
        _check_inviter(by, role, campaign, team)
    if campaign is not None and campaign_role not in AT_MOST[role]:
        raise PeopleError(f"an account with the role {role} cannot be {campaign_role}; change one")
    key = secrets.token_urlsafe(BYTES)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            digest=digest_of(key),
            role=role,
            campaign=campaign,
            campaign_role=campaign_role,
            team=team,
            note=" ".join(note.split())[:150],
            by=by,
            expires_at=timezone.now() + LIFE,
        )
        within = str(campaign_role) if campaign else None
        record("invitation.made", invitation.campaign_id, invitation, role=role, within=within)
    return NewInvitation(invitation, key)


def _check_inviter(by: User, role: str, campaign: Campaign | None, team: Team | None) -> None:
    """Allow admins to invite anyone, and researchers annotators to their campaigns and teams."""
    if by.role == User.Role.ADMIN:
        return
    if role != User.Role.ANNOTATOR or (campaign is None and team is None):
        raise PeopleError(
            "a researcher invites annotators to a campaign or a team; ask an admin for more"
        )
    if team is not None and not managed_teams(by).filter(pk=team.pk).exists():
        raise PeopleError("this team is not yours; name another")
    if campaign is not None and not may_manage(by, campaign.pk):
        raise PeopleError("this campaign is not yours; name another")


def digest_of(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def invitation_of(key: str) -> Invitation | None:
    """Return the invitation for a link's key, in any state."""
    if not key or len(key) > MAX_KEY_LENGTH:
        return None
    rows = Invitation.objects.select_related("campaign", "by", "team")
    return rows.filter(digest=digest_of(key)).first()


def accept(invitation: Invitation, name: str, password: str) -> User:
    """Create the account of an invitation and mark the invitation as used, in one transaction.

    Raises AccountError if the name or password is not allowed, or else PeopleError.
    """
    user = User(username=name, role=invitation.role)
    _check_account(user, password)
    user.set_password(password)
    try:
        _redeem(invitation, user, new=True)
    except IntegrityError as error:
        raise AccountError({"name": [Message("This name is taken; choose another.")]}) from error
    return user


def accept_identity(invitation: Invitation, name: str) -> User:
    """Create the account of an invitation for a person without a password. Raises PeopleError."""
    user = User(username=name, role=invitation.role)
    user.set_unusable_password()
    _redeem(invitation, user, new=True)
    return user


def join(invitation: Invitation, user: User) -> None:
    """Give an existing account the invitation's role in its campaign, and mark it as used."""
    if invitation.campaign is None and invitation.team is None:
        raise PeopleError(Message("this link is for a new account; log out to create one"))
    _redeem(invitation, user, new=False)


def landing(invitation: Invitation, user: User) -> str:
    """Return the page on which a person who has used the invitation lands."""
    if invitation.team_id is None:
        return reverse("home")
    if user.role == User.Role.ANNOTATOR:
        # This page names the team, since annotators have no page of a team.
        return f"{reverse('work')}?joined={invitation.team_id}"
    if invitation.campaign_id is not None:
        return reverse("home")
    return reverse("team", args=[invitation.team_id])


def _make_member(invitation: Invitation, user: User) -> None:
    team = invitation.team
    if team is not None and not team.members.filter(user=user).exists():
        with folded():
            set_role(team, user, TeamMember.Role.MEMBER)
    if invitation.campaign is not None:
        with folded():
            add_member(invitation.campaign, user, invitation.campaign_role, invitation.by)


def _record_use(invitation: Invitation, user: User, new: bool) -> None:
    record("invitation.used", invitation.campaign_id, invitation, by=user.pk, new_account=new)


def _redeem(invitation: Invitation, user: User, new: bool) -> None:
    """Give an account what the invitation promises, and save the account if it is new."""
    with transaction.atomic():
        if new:
            user.save()
        _use_up(invitation, user)
        _make_member(invitation, user)
        _record_use(invitation, user, new)


def _use_up(invitation: Invitation, user: User) -> None:
    """Mark the invitation as used. One update decides, so that it cannot be used twice."""
    _check_inviter_access(invitation)
    now = timezone.now()
    usable = Invitation.objects.filter(
        pk=invitation.pk, used_at=None, revoked_at=None, expires_at__gt=now
    )
    if not usable.update(used_at=now, used_by=user):
        raise PeopleError(Message("this link was used or revoked just now; ask for a new one"))


def _check_inviter_access(invitation: Invitation) -> None:
    """Refuse links from inviters who have lost access to the campaign since."""
    by, campaign, team = invitation.by, invitation.campaign, invitation.team
    if by and team and not managed_teams(by).filter(pk=team.pk).exists():
        raise PeopleError(
            Message("the person who created this link has left the team; ask for a new one")
        )
    if by and campaign and not may_manage(by, campaign.pk):
        raise PeopleError(
            Message("the person who created this link has left the campaign; ask for a new one")
        )


def _check_account(user: User, password: str) -> None:
    problems: dict[str, list[str]] = {}
    try:
        user.full_clean(exclude=["password"], validate_unique=False)
    except ValidationError as error:
        problems["name"] = [each for found in error.message_dict.values() for each in found]
    else:
        # Names that differ only in case are easily confused.
        if User.objects.filter(username__iexact=user.username).exists():
            problems["name"] = [Message("This name is taken; choose another.")]
    try:
        validate_password(password, user)
    except ValidationError as error:
        problems["password"] = list(error.messages)
    if problems:
        raise AccountError(problems)


def revoke(invitation: Invitation) -> bool:
    """Revoke an invitation. Returns False if it is used or revoked already."""
    usable = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None)
    with transaction.atomic():
        revoked = bool(usable.update(revoked_at=timezone.now()))
        if revoked:
            record("invitation.revoked", invitation.campaign_id, invitation)
    return revoked


def revoke_all_of(user: User) -> None:
    """Revoke all open invitations by an account that may no longer invite."""
    open_ones = Invitation.objects.filter(by=user, used_at=None, revoked_at=None)
    open_ones.update(revoked_at=timezone.now())
