"""Servers and keys available to judges defined in the browser.

If a person could choose both an address and the name of a key, any secret in the environment could
be sent to that address. So a key is sent only to an address that already uses it, unless an admin
combines the two. For that, only keys that the operator reserved may be used.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from django.conf import settings

from annotation.models import User
from datasets.models import Team
from datasets.teams import managed_by, managed_teams, there_are_several, visible_to_team
from judging.backends import HOSTED
from judging.backends.base import SetupError
from judging.backends.ssrf_guard import check_address
from judging.backends.wire import parse_base_url
from judging.models import Judge, Key

GUARDED = "guarded"
KEY_PREFIX = "TANDEM_KEY_"


@dataclass(frozen=True)
class Server:
    """An address with the name of its key. `guarded` if the address was entered in the browser."""

    base_url: str
    api_key_env: str = ""
    guarded: bool = True

    @property
    def name(self) -> str:
        return f"{self.base_url} {self.api_key_env}".strip()

    def __str__(self) -> str:
        key = f"key in {self.api_key_env}" if self.api_key_env else "no key"
        return f"{self.base_url} ({key})"


def listed_hosts_for(judge: Judge) -> tuple[str, ...] | None:
    """Return the private hosts that a browser-defined judge may ask. None for other judges."""
    return tuple(settings.TANDEM_JUDGE_HOSTS) if judge.params.get(GUARDED) else None


def known_servers(user: User) -> list[Server]:
    """Return the providers' servers and those of the judges that an account manages, with keys.

    A server is unguarded if the operator has defined a judge that uses it. On a site with several
    teams, a key of another team is not offered.
    """
    found: dict[tuple[str, str], bool] = {
        (hosted.public_url, hosted.key_variable): True
        for hosted in HOSTED.values()
        if may_use_key(user, hosted.key_variable)
    }
    judges = managed_by(user, Judge.objects.filter(backend__in=HOSTED)).order_by("pk")
    given = judges.values_list("backend", "base_url", "api_key_env", "params")
    for backend, url, key, params in given:
        if not may_use_key(user, key):
            continue
        server = (parse_base_url(url, HOSTED[backend].public_url), key)
        found[server] = found.get(server, True) and bool(params.get(GUARDED))
    return [Server(*server, guarded) for server, guarded in found.items()]


def may_use_key(user: User, variable: str) -> bool:
    """Whether an account may define judges that use a key.

    On a site with several teams, these are the keys of the account's teams; an admin assigns new
    ones.
    """
    if not variable or user.role == User.Role.ADMIN or not there_are_several():
        return True
    key = Key.objects.filter(variable=variable)
    if not key.exists():
        # A key that no judge uses yet belongs to the first team, which once was the only one.
        return managed_teams(user).contains(Team.objects.earliest("pk"))
    return managed_by(user, key).exists()


def has_key(judge: Judge) -> bool:
    """Whether the judge's team may use its key. This changes when a key is no longer shared.

    A judge that is not stored has no team; the form asks `may_use_key` about its account.
    """
    if not judge.api_key_env or judge.team_id is None or not there_are_several():
        return True
    key = Key.objects.filter(variable=judge.api_key_env)
    if not key.exists():
        return True
    return key.filter(visible_to_team(Key, judge.team)).exists()


def missing_key(judge: Judge) -> str:
    """Return the variable that should hold the judge's key if it is empty in this process.

    The site and its workers share these variables (`compose.yaml`, `make serve`).
    """
    is_there = os.environ.get(judge.api_key_env, "").strip() if judge.api_key_env else "none needed"
    return "" if is_there else judge.api_key_env


def check_key(judge: Judge) -> None:
    """Check that the judge's team may still use its key. Raises SetupError."""
    if not has_key(judge):
        raise SetupError(
            f"the key in {judge.api_key_env} is no longer shared with team {judge.team}; let an "
            "admin share it"
        )


def new_server(url: str, key: str, user: User) -> Server:
    """Check a server that was entered in the browser. Raises SetupError."""
    address = parse_base_url(url, "")
    check_address(url.strip(), settings.TANDEM_JUDGE_HOSTS)
    if key and user.role != User.Role.ADMIN:
        raise SetupError("only an admin may combine a new address with a key; leave the key out")
    if key and not key.startswith(KEY_PREFIX):
        raise SetupError(
            f"a key for a new address must be in a variable named {KEY_PREFIX}…; rename it"
        )
    return Server(address, key)
