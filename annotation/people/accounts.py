"""What becomes of accounts: another role, switched off and on, logged out, forgotten.

Labels stay in every case.
"""

from __future__ import annotations

from axes.models import AccessAttempt
from django.db import transaction
from django.db.models import F, ProtectedError
from django.utils import timezone
from knox.models import AuthToken

from annotation.models import Assignment, Draft, Invitation, Membership, Rater, User
from annotation.models.people import new_pseudonym
from annotation.people.errors import PeopleError
from annotation.people.invitations import revoke_all_of
from annotation.people.leases import Ended, give_back_all
from annotation.people.members import AT_MOST
from audit.recording import folded, record


def end_sessions(user: User) -> None:
    """Ends all log-ins and tokens of an account."""
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(sessions=F("sessions") + 1)
        tokens = AuthToken.objects.filter(user=user).delete()[1].get(AuthToken._meta.label, 0)
        record("account.sessions", of=("account", user.pk), tokens=tokens)
    user.refresh_from_db(fields=["sessions"])


def change_role(user: User, role: str) -> bool:
    """Gives an account another role; False where it has it already. Raises PeopleError.

    Log-ins and tokens end, and so do roles in campaigns that the new one does not allow.
    """
    if role not in User.Role.values:
        raise PeopleError(f"a role is one of {', '.join(User.Role.values)}; mend it")
    if user.is_guest:
        raise PeopleError("a guest has no other role; invite the person to an account instead")
    with transaction.atomic():
        _lock(user)
        if user.role == role:
            return False
        _keep_an_admin(user, "give another account the role first")
        before, user.role = user.role, role
        User.objects.filter(pk=user.pk).update(role=role)
        with folded():
            _trim_memberships(user)
            revoke_all_of(user)
            end_sessions(user)
        record("account.role", None, ("account", user.pk), before, role, was=before, now=role)
    return True


def _trim_memberships(user: User) -> None:
    allowed = AT_MOST[user.role]
    too_much = Membership.objects.filter(user=user, ended_at=None).exclude(role__in=allowed)
    if allowed:
        too_much.update(role=Membership.Role.ANNOTATOR)
    else:
        too_much.update(ended_at=timezone.now())
        give_back_all(user, Ended.LEFT)


def switch_off(user: User) -> bool:
    """Deactivates an account: no log-in, no token, no place, and no invitation of theirs.

    False where it was off already. Raises PeopleError.
    """
    with transaction.atomic():
        _lock(user)
        if not user.is_active:
            return False
        _keep_an_admin(user, "make another admin first")
        User.objects.filter(pk=user.pk).update(is_active=False)
        user.is_active = False
        with folded():
            revoke_all_of(user)
            end_sessions(user)
            give_back_all(user, Ended.LEFT)
        record("account.off", of=("account", user.pk))
    return True


def switch_on(user: User) -> bool:
    """Lets an account in again, by its old password; False where it was on already."""
    with transaction.atomic():
        changed = User.objects.filter(pk=user.pk, is_active=False).update(is_active=True)
        if changed:
            # What they held when they left is theirs again, where a place of it is free.
            left = {"status": Assignment.Status.CANCELLED, "reason": Ended.LEFT}
            Assignment.objects.filter(rater__user=user, **left).update(reason=Ended.EXPIRED)
            record("account.on", of=("account", user.pk))
    user.is_active = True
    return bool(changed)


def rename_rater(rater: Rater, name: str = "") -> str:
    """Gives a person another pseudonym, a new one where none is named. Raises PeopleError.

    Orders that were drawn stay as they are stored; who draws them again needs the old name.
    """
    wanted = " ".join(name.split()) or new_pseudonym()
    if len(wanted) > 150 or not wanted.isprintable():
        raise PeopleError("a pseudonym is one line of up to 150 characters; mend it")
    with transaction.atomic():
        if User.objects.filter(username__iexact=wanted).exists():
            raise PeopleError("this is the name of an account; choose another pseudonym")
        if Rater.objects.filter(name=wanted).exclude(pk=rater.pk).exists():
            raise PeopleError("another rater has this name; choose another pseudonym")
        Rater.objects.filter(pk=rater.pk).update(name=wanted)
        record("account.pseudonym", of=rater, before=rater.name, after=wanted)
    rater.name = wanted
    return wanted


def rename(user: User, name: str = "") -> str:
    """The same for the person behind an account."""
    rater = Rater.objects.filter(user=user).first()
    if rater is None:
        raise PeopleError("this account took no item yet; its pseudonym is made with the first")
    return rename_rater(rater, name)


def tells_the_account(rater: Rater) -> bool:
    """Whether a person's labels stand under the name of the account."""
    return rater.user is not None and rater.name.casefold() == rater.user.username.casefold()


def forget(user: User) -> str | None:
    """Deletes an account with all that tells who it was; answers stay under a pseudonym.

    The pseudonym, or None where the person never took an item. Raises PeopleError.
    """
    with transaction.atomic():
        with folded():
            switch_off(user)
            rater = Rater.objects.filter(user=user).first()
            name = _forget_rater(rater) if rater else None
        AuthToken.objects.filter(user=user).delete()
        Invitation.objects.filter(used_by=user).update(note="")
        AccessAttempt.objects.filter(username=user.username).delete()
        # The trail keeps the number of an account that is no more, and nothing else of it.
        record("account.forgotten", of=("account", user.pk), labels_kept=name is not None)
        user.delete()
    return name


def _forget_rater(rater: Rater) -> str | None:
    Draft.objects.filter(assignment__rater=rater).delete()
    if not Assignment.objects.filter(rater=rater).exists():
        try:
            rater.delete()
        except ProtectedError:
            pass  # decisions or reviews stand under its pseudonym
        else:
            return None
    if tells_the_account(rater):
        rename_rater(rater)
    return rater.name


def _lock(user: User) -> None:
    """Whoever changes accounts waits here for one another, so that the last admin stays."""
    list(User.objects.select_for_update().filter(role=User.Role.ADMIN).order_by("pk"))
    user.refresh_from_db()


def _keep_an_admin(user: User, advice: str) -> None:
    if user.role != User.Role.ADMIN or not user.is_active:
        return
    others = User.objects.filter(role=User.Role.ADMIN, is_active=True).exclude(pk=user.pk)
    if not others.exists():
        raise PeopleError(f"{user.username} is the only admin; {advice}")
