"""Servers and keys available to judges defined in the browser.

If a person could choose both an address and the name of a key, any secret in the environment could
be sent to that address. So a key is sent only to an address that already uses it, unless an admin
combines the two. For that, only keys that the operator reserved may be used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.conf import settings

from annotation.models import User
from datasets.access import managed_by, managed_teams, there_are_several, visible_to_team
from datasets.models import Team
from judging.backends import HOSTED
from judging.backends.addresses import parse_base_url, variables_in
from judging.backends.base import SetupError
from judging.backends.contents import ADDRESSES, HEADERS
from judging.backends.ssrf_guard import check_address
from judging.models import Judge, JudgeCall, Key

GUARDED = "guarded"
KEY_PREFIX = "TANDEM_KEY_"


@dataclass(frozen=True)
class Server:
    """An address with the names of its key and of its headers' values.

    `guarded` if the address was entered in the browser. `headers` are pairs of a name and the
    variable that holds the value.
    """

    base_url: str
    api_key_env: str = ""
    guarded: bool = True
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        headers = (f"{name}={variable}" for name, variable in self.headers)
        return " ".join(filter(None, (self.base_url, self.api_key_env, *headers)))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that hold the server's secrets."""
        return variables_of(self.base_url, self.api_key_env, dict(self.headers))

    def __str__(self) -> str:
        keys = [f"key in {self.api_key_env}"] if self.api_key_env else []
        keys += [f"{name} in {variable}" for name, variable in self.headers]
        return f"{self.base_url} ({', '.join(keys) or 'no key'})"


def variables_of(base_url: str, key: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables of a key, of headers, and of the query of an address."""
    every = (key, *headers.values(), *variables_in(base_url))
    return tuple(dict.fromkeys(variable for variable in every if variable))


def variables_of_judge(judge: Judge) -> tuple[str, ...]:
    """Return the variables that hold a judge's secrets."""
    key, headers = judge.api_key_env, judge.params.get(HEADERS, {})
    every = (judge.base_url, *judge.params.get(ADDRESSES, ()))
    return tuple(dict.fromkeys(v for url in every for v in variables_of(url, key, headers)))


def servers_of(judge: Judge) -> list[Server]:
    """Return the servers of a judge whose backend asks those of a person's choice.

    There is one for each address, the first of them in front.
    """
    first = parse_base_url(judge.base_url, HOSTED[judge.backend].public_url)
    headers = tuple(sorted(judge.params.get(HEADERS, {}).items()))
    guarded = bool(judge.params.get(GUARDED))
    every = (first, *judge.params.get(ADDRESSES, ()))
    return [Server(url, judge.api_key_env, guarded, headers) for url in every]


def address_of(call: JudgeCall) -> str:
    """Return the address that was asked, empty if its judge has only one."""
    return "" if call.address is None else servers_of(call.run.judge)[call.address].base_url


def listed_hosts_for(judge: Judge) -> tuple[str, ...] | None:
    """Return the private hosts that a browser-defined judge may ask. None for other judges."""
    return tuple(settings.TANDEM_JUDGE_HOSTS) if judge.params.get(GUARDED) else None


def known_servers(user: User) -> list[Server]:
    """Return the providers' servers and those of the judges that an account manages, with keys.

    A server is unguarded if the operator has defined a judge that uses it. On a site with several
    teams, a key of another team is not offered.
    """
    public = [Server(hosted.public_url, hosted.key_variable) for hosted in HOSTED.values()]
    judges = managed_by(user, Judge.objects.filter(backend__in=HOSTED)).order_by("pk")
    found: dict[str, Server] = {}
    of_judges = (server for judge in judges for server in servers_of(judge))
    for server in (*public, *of_judges):
        if not all(may_use_key(user, variable) for variable in server.variables):
            continue
        before = found.get(server.name, server)
        found[server.name] = replace(server, guarded=before.guarded and server.guarded)
    return list(found.values())


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


def withheld_key(judge: Judge) -> str:
    """Return the variable of a judge's secret that its team may not use, empty if there is none.

    This changes when a key is no longer shared. A judge that is not stored has no team; the form
    asks `may_use_key` about its account.
    """
    if judge.team_id is None or not there_are_several():
        return ""
    for variable in variables_of_judge(judge):
        key = Key.objects.filter(variable=variable)
        if key.exists() and not key.filter(visible_to_team(Key, judge.team)).exists():
            return variable
    return ""


def missing_key(judge: Judge) -> str:
    """Return the first variable of the judge's secrets that is empty in this process.

    The site and its workers share these variables (`compose.yaml`, `make serve`).
    """
    empty = (each for each in variables_of_judge(judge) if not os.environ.get(each, "").strip())
    return next(empty, "")


def check_key(judge: Judge) -> None:
    """Check that the judge's team may still use its secrets. Raises SetupError."""
    if variable := withheld_key(judge):
        raise SetupError(
            f"the key in {variable} is no longer shared with team {judge.team}; let an admin "
            "share it"
        )


def new_server(url: str, key: str, user: User, headers: Mapping[str, str] | None = None) -> Server:
    """Check a server that was entered in the browser. Raises SetupError."""
    server = Server(parse_base_url(url, ""), key, headers=tuple(sorted((headers or {}).items())))
    check_address(url.strip(), settings.TANDEM_JUDGE_HOSTS)
    if server.variables and user.role != User.Role.ADMIN:
        raise SetupError("only an admin may combine a new address with a key; leave the key out")
    if not all(variable.startswith(KEY_PREFIX) for variable in server.variables):
        raise SetupError(
            f"a key for a new address must be in a variable named {KEY_PREFIX}…; rename it"
        )
    return server
