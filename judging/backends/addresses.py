"""Where a server is asked, and with which secrets: its base URL, its key and its headers.

Secrets are in environment variables. A judge names them: its key, the value of each header, and
`{VARIABLE}` as a value in the query of the base URL. They are read when a request is sent.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from judging.backends.base import FatalError, SetupError

ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
SHORTEST_HIDDEN = 4
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
_VERSION = re.compile(r"/v\d[^/]*(/.*)?$")
_PATHS = ("/chat/completions", "/responses", "/messages")
# Names of secrets in queries, in letters alone.
_SECRET = frozenset(
    {
        "key", "apikey", "accesskey", "subscriptionkey", "token", "apitoken", "accesstoken",
        "authtoken", "auth", "authorization", "secret", "clientsecret", "password", "passwd",
        "pwd", "sig", "signature", "code", "credential", "xamzsignature", "xamzsecuritytoken",
    }
)  # fmt: skip


def is_variable(name: object) -> bool:
    """Return whether this may be the name of an environment variable."""
    return isinstance(name, str) and len(name) <= 100 and bool(ENVIRONMENT_NAME.fullmatch(name))


def parse_base_url(text: str, public_url: str) -> str:
    """Check a base URL, and add a version to a path without one. Raises SetupError.

    The query stays, with its secrets as the names of variables. No version is added to the address
    of a deployment, nor to one that has it in the query.
    """
    try:
        parts = urlsplit((text or public_url).strip())
        parts.port  # noqa: B018 - reading the port validates it
    except ValueError as error:
        shown = "the base URL" if "?" in text else f"base URL {text!r}"
        raise SetupError(f"{shown} cannot be read; {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = text.partition("?")[0]
        raise SetupError(
            f"base URL {shown!r} is not of the form http://HOST or https://HOST; correct it"
        )
    if parts.username is not None or parts.fragment:
        raise SetupError(
            "the base URL contains a user or a fragment; remove it, and name the environment "
            "variable that holds the key"
        )
    names = _check_query(parts.query)
    path = parts.path.rstrip("/")
    for each in _PATHS:
        path = path.removesuffix(each).rstrip("/")
    segments = path.split("/")
    versioned = any(re.match(r"v\d", segment) for segment in segments)
    if not (versioned or "deployments" in segments or "apiversion" in names):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _check_query(query: str) -> set[str]:
    """Return the names in a query, in letters alone. Raises SetupError for a secret in it."""
    pairs = parse_qsl(query, keep_blank_values=True)
    for name, value in pairs:
        if "{" in value and not ((place := _PLACE.fullmatch(value)) and is_variable(place[1])):
            raise SetupError(f"the base URL gives no variable for {name!r}; write {name}={{NAME}}")
        if _letters(name) in _SECRET and not _PLACE.fullmatch(value):
            raise SetupError(
                f"the base URL contains the value of {name!r}; put it in an environment variable, "
                f"and write {name}={{VARIABLE}} with the variable's name"
            )
    return {_letters(name) for name, _ in pairs}


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def without_credentials(url: str) -> str:
    """Remove the user, the fragment, and secrets in the query from an address."""
    parts = urlsplit(url)
    pairs = [pair for pair in parts.query.split("&") if _is_public(pair)]
    netloc = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(pairs), ""))


def _is_public(pair: str) -> bool:
    name, _, value = pair.partition("=")
    return _letters(name) not in _SECRET or bool(_PLACE.fullmatch(value))


def variables_in(url: str) -> tuple[str, ...]:
    """Return the variables that hold secrets of an address's query."""
    return tuple(_PLACE.findall(urlsplit(url).query))


def join_path(base_url: str, path: str) -> str:
    """Return the address of a path under the base URL, or under its root if it has a slash."""
    base, _, query = base_url.partition("?")
    own, _, more = path.partition("?")
    root = _VERSION.sub("", base) if own.startswith("/") else f"{base}/"
    both = "&".join(each for each in (query, more) if each)
    return f"{root}{own}" + (f"?{both}" if both else "")


class Secrets:
    """The secrets of a server: its key, the values of its headers, and those of its address.

    `headers` maps the names of headers to the variables that hold their values.
    """

    def __init__(self, key_variable: str, headers: Mapping[str, str], base_url: str) -> None:
        self._key, self._headers = key_variable, dict(headers)
        self._places = variables_in(base_url)

    def key(self) -> str:
        """Return the key, empty if there is none. Raises FatalError."""
        return self._value(self._key) if self._key else ""

    def headers(self) -> dict[str, str]:
        """Return the headers with their values. Raises FatalError if a value is missing."""
        return {
            name: self._needed(variable, f"the header {name}")
            for name, variable in self._headers.items()
        }

    def fill(self, url: str) -> str:
        """Return an address with its secrets. Raises FatalError if one is missing."""
        if not self._places:
            return url
        base, _, query = url.partition("?")
        return f"{base}?" + _PLACE.sub(
            lambda found: quote(self._needed(found[1], "the base URL"), safe=""), query
        )

    def hidden(self) -> list[str]:
        """Return all forms of the secrets that must not be shown, the longest first."""
        key = os.environ.get(self._key, "").strip() if self._key else ""
        others = (*self._headers.values(), *self._places)
        return _hidden_forms(key, tuple(os.environ.get(name, "").strip() for name in others))

    def _needed(self, variable: str, what: str) -> str:
        if value := self._value(variable):
            return value
        raise FatalError("key", f"{variable}, which {what} needs, is empty; set it")

    def _value(self, variable: str) -> str:
        value = os.environ.get(variable, "").strip()
        if not value.isprintable():
            message = f"the key in {variable} contains a line break; write it on one line"
            raise FatalError("key", message)
        return value


@lru_cache(maxsize=64)
def _hidden_forms(key: str, others: tuple[str, ...]) -> list[str]:
    found = {form for value in (*others, key) for form in _forms(value)}
    kept = {form for form in found if len(form) >= SHORTEST_HIDDEN} | ({key} - {""})
    return sorted(kept, key=lambda form: (-len(form), form))


def _forms(value: str) -> Iterator[str]:
    """Yield a secret as servers repeat it: whole, without its scheme, and escaped."""
    for part in {value, value.rpartition(" ")[2]}:
        yield from (part, json.dumps(part)[1:-1], quote(part, safe=""))
