"""The address of a server's chat completions, from what its operator wrote down."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from judging.backends.base import SetupError

PUBLIC = "https://api.openai.com/v1"


def base_of(written: str) -> str:
    """The base URL with its version, added where the path names none. Raises SetupError."""
    url = (written or PUBLIC).strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError as error:
        raise SetupError(f"base URL {written!r} cannot be read; {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(f"base URL {written!r} is not http://HOST or https://HOST; mend it")
    if parts.username is not None or parts.query or parts.fragment:
        raise SetupError(
            "the base URL holds a user, a query or a fragment; leave it out and give the key by "
            "its environment variable"
        )
    versioned = any(re.match(r"v\d", segment) for segment in parts.path.split("/"))
    return url if versioned else f"{url}/v1"
