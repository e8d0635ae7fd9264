"""What an account may see and manage, by role and by team, and the address of a request.

The lowest app has this module, since every app has pages.

A researcher sees what belongs to one of their teams or is shared with it. Owners and managers of a
team manage what it owns, and what other teams share with it to manage. Admins manage everything.
The response is 404 for an object that an account may not see, and 403 if it may only read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from ipaddress import ip_address
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.apps import apps
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.functional import SimpleLazyObject

from datasets.models import Batch, Owned, Share, Team, TeamMember, only_team
from tandem.similar import did_you_mean

ANNOTATOR, RESEARCHER, ADMIN = "annotator", "researcher", "admin"
EVERYBODY = (ANNOTATOR, RESEARCHER, ADMIN)
WORKERS = (ANNOTATOR, RESEARCHER)
READERS = (RESEARCHER, ADMIN)
"""Groups of roles, under the names by which pages and the API require them."""

P = ParamSpec("P")
ViewT = TypeVar("ViewT", bound=Callable[..., object])
Found = TypeVar("Found")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def role_required(*roles: str) -> Callable[[View[P]], View[P]]:
    """Allow only accounts of these roles. A script without a session gets 401, not a page."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _log_in_first(request)
            if request.user.role not in roles:
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def takes_files(view: ViewT) -> ViewT:
    """Mark a view that accepts files, up to TANDEM_MAX_UPLOAD_MB. Others take smaller bodies."""
    view.takes_files = True  # type: ignore[attr-defined]
    return view


def longest_body(most: int) -> Callable[[ViewT], ViewT]:
    """Mark a view that takes no body of more bytes than this."""

    def mark(view: ViewT) -> ViewT:
        view.longest_body = most  # type: ignore[attr-defined]
        return view

    return mark


def found_or_404(found: Found | None) -> Found:
    """Return what a look-up found. Raises Http404 if that is nothing."""
    if found is None:
        raise Http404
    return found


def wants_data(request: HttpRequest) -> bool:
    """Whether a script sent the request, and needs data instead of a page."""
    accepted = request.headers.get("Accept", "")
    from_script = "application/json" in accepted or request.path_info.startswith("/api/")
    return from_script or "HX-Request" in request.headers


def client_address(request: HttpRequest) -> str:
    """Return the client's address, as the site's own proxies or the connection give it.

    Each proxy appends the address of its client, so with N proxies the client's address is the N-th
    from the end. Earlier addresses may be forged.
    """
    connected = str(request.META.get("REMOTE_ADDR") or "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if not settings.PROXIES or len(forwarded) < settings.PROXIES:
        return connected
    address = forwarded[-settings.PROXIES].strip()
    try:
        return str(ip_address(address))
    except ValueError:
        return connected


def _log_in_first(request: HttpRequest) -> HttpResponseBase:
    if wants_data(request):
        return JsonResponse({"message": "log in again"}, status=401)
    return redirect_to_login(request.get_full_path())


Role, Right = TeamMember.Role, Share.Right
MANAGING = (Role.OWNER, Role.MANAGER)
"""The roles in a team that may change, close, export and invite."""


class TeamError(ValueError):
    """A message about what is wrong and what to do, in one sentence without a full stop."""


class NotManagedError(PermissionDenied):
    """The account may read an object, but may not do this with it."""

    def __init__(self) -> None:
        super().__init__("only the owner and the managers of the team may do this; ask one of them")


def there_are_several() -> bool:
    """Whether the site has several teams, so that pages, API and commands name them."""
    return Team.objects.count() > 1


_several: ContextVar[Mapping[str, bool] | None] = ContextVar("several", default=None)


def several_for(request: str) -> bool:
    """Return `there_are_several`, looked up once per request id; "" means no request."""
    known = _several.get() or {}
    if not request or request not in known:
        known = {request: there_are_several()}
        _several.set(known)
    return known[request]


def teams_of(user: Any, roles: Iterable[str] = Role.values) -> QuerySet[TeamMember, Any]:
    """Return the ids of the teams in which an account has one of these roles, for a query."""
    return TeamMember.objects.filter(user=user, role__in=roles).values("team")


def in_a_team_of(model: type[Model], user: Any) -> Q:
    """Return the condition that something belongs to the account's teams or is shared with them."""
    return _owned_or_shared(model, teams_of(user), Right.values)


def in_a_managed_team(model: type[Model], user: Any) -> Q:
    """Return the condition that the account manages something by its role in a team."""
    return _owned_or_shared(model, teams_of(user, MANAGING), (Right.MANAGE,))


def visible_to_team(model: type[Model], team: Team) -> Q:
    """Return the condition that something belongs to a team, or is shared with it."""
    return _owned_or_shared(model, [team.pk], Right.values)


def _owned_or_shared(model: type[Model], teams: Any, rights: Iterable[str]) -> Q:
    mine = Q(team__in=teams)
    return mine if shares_of(model) is None else mine | _is_shared(model, teams, rights)


def shared_with_a_team_of(model: type[Model], user: Any) -> Q:
    return _is_shared(model, teams_of(user), Right.values)


def _is_shared(model: type[Model], teams: Any, rights: Iterable[str]) -> Q:
    shares = shares_of(model).objects.filter(of=OuterRef("pk"), team__in=teams, right__in=rights)
    return Q(Exists(shares))


def shares_of(model: type[Model]) -> Any:
    """Return the model of the shares of a kind of thing; None if it cannot be shared."""
    relations = {each.name: each for each in model._meta.related_objects}
    return relations["shares"].related_model if "shares" in relations else None


def managed_by(user: Any, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Select what an account may change, by its role and its teams alone."""
    if user.role == ADMIN:
        return rows
    if user.role != RESEARCHER or user.is_guest:
        return rows.none()
    return rows.filter(in_a_managed_team(rows.model, user))


def manages(user: Any, thing: Model) -> bool:
    return managed_by(user, type(thing)._default_manager.filter(pk=thing.pk)).exists()


def check_managed(user: Any, thing: Model) -> None:
    """Raise NotManagedError unless the account manages something that it may read."""
    if not manages(user, thing):
        raise NotManagedError


BATCH_READERS: list[Callable[[Any], Q]] = []
"""Further conditions on which an account reads a batch, such as that it reads a campaign of it."""


def visible_batches(user: Any) -> QuerySet[Batch]:
    rows = Batch.objects.select_related("team", "made_by").order_by("name")
    if user.role == ADMIN:
        return rows
    if user.role != RESEARCHER or user.is_guest:
        return rows.none()
    may_read = in_a_team_of(Batch, user)
    for further in BATCH_READERS:
        may_read |= further(user)
    return rows.filter(may_read)


def visible_batch(user: Any, pk: int) -> Batch:
    """Return a batch that the account may read. Raises Http404 for any other."""
    return get_object_or_404(visible_batches(user), pk=pk)


def visible_teams(user: Any) -> QuerySet[Team]:
    """Return the teams of an account, or all for an admin."""
    if user.role == ADMIN:
        return Team.objects.all()
    return Team.objects.filter(pk__in=teams_of(user))


def managed_teams(user: Any) -> QuerySet[Team]:
    """Return the teams for which an account may create things, and change who is in them."""
    if user.role == ADMIN:
        return Team.objects.all()
    if user.role != RESEARCHER or user.is_guest:
        return Team.objects.none()
    return Team.objects.filter(pk__in=teams_of(user, MANAGING))


def team_for(user: Any, name: str | None = None, like: Team | None = None) -> Team:
    """Return the team for something new that an account creates. Raises TeamError.

    `name` names the team. Without a name it is `like`, the team of what the new thing is created
    from, if the account manages that team; otherwise the only team that the account manages.
    """
    found = managed_teams(user)
    if like is not None and not name and found.filter(pk=like.pk).exists():
        return like
    if name:
        team = found.filter(name=name).first()
        if team is None:
            known = found.values_list("name", flat=True)
            hint = did_you_mean(name, known, "see the list of teams")
            raise TeamError(f"{name!r} is not a team that you manage; {hint}")
        return team
    own = list(found[:2])
    if len(own) == 1:
        return own[0]
    if not own and user.role == ADMIN:
        return only_team()
    if not own:
        raise TeamError("you manage no team; ask the owner of a team, or an admin")
    raise TeamError(f"say for which team: {', '.join(found.values_list('name', flat=True))}")


def team_choice(user: Any, chosen: str = "") -> dict[str, Any]:
    """Return template variables for the choice of a team: none if the account manages only one."""
    names = list(managed_teams(user).values_list("name", flat=True))
    return {"team_choices": names if len(names) > 1 else [], "team_chosen": chosen}


def describe_owner(thing: Owned) -> str:
    """Return the owner of something, for commands; empty if the site has one team."""
    if not there_are_several():
        return ""
    by = f", created by {thing.made_by}" if thing.made_by else ""
    return f"Team {thing.team.name}{by}."


def team_named(name: str | None) -> Team:
    """Return the team that a command names, or the site's only one. Raises TeamError."""
    if name:
        team = Team.objects.filter(name=name).first()
        if team is None:
            known = Team.objects.values_list("name", flat=True)
            hint = did_you_mean(name, known, f"there are {_names()}")
            raise TeamError(f"there is no team {name!r}; {hint}")
        return team
    if there_are_several():
        raise TeamError(f"say for which team, by --team: {_names()}")
    return only_team()


def _names() -> str:
    return ", ".join(Team.objects.values_list("name", flat=True))


def kinds() -> dict[str, type[Owned]]:
    """Return the models that can be shared and moved, by the word that commands use."""
    return {model._meta.model_name or "": model for model in _owned_models() if shares_of(model)}


def _owned_models() -> Iterator[type[Owned]]:
    return (model for model in apps.get_models() if issubclass(model, Owned))


def teams_shown(request: HttpRequest) -> dict[str, Any]:
    """Return the template variable `teams_shown`: whether pages name teams, looked up once."""
    return {"teams_shown": SimpleLazyObject(there_are_several)}
