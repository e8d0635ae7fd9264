"""Which servers judges from the browser may ask, and with which keys.

A person who could choose both an address and the name of a key could have any secret of the
server's environment sent to that address. So a key goes only where it went before, or an admin
combines the two, and only keys that the operator reserved for this.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from annotation.models import User
from judging.backends.base import SetupError
from judging.backends.openai import PUBLIC_URL, parse_base_url
from judging.backends.ssrf_guard import check_address
from judging.models import Judge

GUARDED = "guarded"
KEY_PREFIX = "TANDEM_KEY_"
PUBLIC_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Server:
    """An address with the name of its key; `guarded` where it was written in the browser."""

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
    """The hosts that may be private for a judge of the browser; None for the operator's own."""
    return tuple(settings.TANDEM_JUDGE_HOSTS) if judge.params.get(GUARDED) else None


def known_servers() -> list[Server]:
    """OpenAI's own server, and all that judges ask already, each with its key.

    Where the operator defined a judge of the same server, it is as trusted as his.
    """
    found: dict[tuple[str, str], bool] = {(PUBLIC_URL, PUBLIC_KEY): True}
    judges = Judge.objects.filter(backend="openai").order_by("pk")
    for url, key, params in judges.values_list("base_url", "api_key_env", "params"):
        place = (parse_base_url(url), key)
        found[place] = found.get(place, True) and bool(params.get(GUARDED))
    return [Server(*place, guarded) for place, guarded in found.items()]


def new_server(url: str, key: str, user: User) -> Server:
    """A server that somebody wrote down in the browser. Raises SetupError."""
    address = parse_base_url(url)
    check_address(url.strip(), settings.TANDEM_JUDGE_HOSTS)
    if key and user.role != User.Role.ADMIN:
        raise SetupError("only an admin brings a new address and a key together; leave the key out")
    if key and not key.startswith(KEY_PREFIX):
        raise SetupError(f"a key for a new address stands in a variable {KEY_PREFIX}…; name it so")
    return Server(address, key)
