"""Keys that a person may remove from a request's body or add to it.

A key in the param `omit` is not sent, and the keys of `extra_body` are sent unchanged. Keys
that would break the protocol, hide text from the judge's page or repeat a param are rejected.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from judging.backends.addresses import is_variable, parse_base_url
from judging.backends.base import JSON, SetupError

STRUCTURE = "response_format"
OMITTED = (
    "temperature", "seed", STRUCTURE, "text", "store", "tools", "tool_choice", "output_config",
)  # fmt: skip
PROTOCOL_KEYS = (
    "model", "messages", "input", "system", "instructions", "prompt", "stream", "stream_options",
    "n", "background", "previous_response_id", "conversation",
)  # fmt: skip
PARAM_KEYS = (
    "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "logprobs", "top_logprobs",
)  # fmt: skip
MAX_OBJECT_LENGTH = 20_000
MAX_DEPTH = 20
HEADERS = "headers"
LIMIT, COMMON = "limit", "common"
"""The param with the headers of a judge's requests, by the variables of their values."""
MAX_HEADERS, MAX_HEADERS_LENGTH = 20, 1000
ADDRESSES = "addresses"
"""The param with further addresses at which a judge's model is served, beside its base URL."""
MAX_ADDRESSES, MAX_ADDRESS_LENGTH = 31, 500
# Headers of the connection and of the body, which belong to the client.
OWN_HEADERS = (
    "host", "content-length", "content-type", "content-encoding", "accept-encoding",
    "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect",
)  # fmt: skip
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class ContentsError(ValueError):
    """A part of a body cannot be sent. The message follows the param's name."""


def read_omitted(text: str) -> list[str]:
    """Read names that are separated by commas, or a JSON list of them. Raises ContentsError."""
    try:
        names = json.loads(text) if text.startswith("[") else text.split(",")
    except (ValueError, RecursionError) as error:
        raise ContentsError("is not a JSON list; give names separated by commas") from error
    return check_omitted(names)


def check_omitted(names: Iterable[Any]) -> list[str]:
    """Return the names of the omitted keys, sorted and without repetition. Raises ContentsError."""
    found = sorted({name.strip() if isinstance(name, str) else str(name) for name in names})
    if unknown := [name for name in found if name not in OMITTED]:
        raise ContentsError(
            f"names {unknown[0][:100]!r}, which is not sent by itself; give any of "
            f"{', '.join(OMITTED)}"
        )
    return found


def read_object(text: str) -> JSON:
    """Read a JSON object of moderate size. Raises ContentsError."""
    if len(text) > MAX_OBJECT_LENGTH:
        raise ContentsError(f"has over {MAX_OBJECT_LENGTH:,} characters; shorten it")
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ContentsError(
            'is not JSON; give an object such as {"top_k": 20}, in quotes if a shell reads it'
        ) from error
    if not isinstance(value, dict):
        raise ContentsError('is not a JSON object; give one such as {"top_k": 20}')
    _check_value(value, MAX_DEPTH)
    return value


def read_extra(text: str) -> JSON:
    """Read the keys to add to a body. Raises ContentsError if a key may not be added."""
    extra = read_object(text)
    for key in extra:
        if not _KEY.fullmatch(key):
            raise ContentsError(f"has the key {key[:100]!r}, which no server reads; correct it")
        if key in PROTOCOL_KEYS:
            raise ContentsError(f"may not change {key!r}, which Tandem itself sends; leave it out")
        if key in PARAM_KEYS:
            raise ContentsError(f"may not contain {key!r}; give it as a param of its own")
    return extra


def read_headers(text: str) -> JSON:
    """Read headers as `NAME=VARIABLE`, separated by commas, or as a JSON object.

    Names come back in lower case, since their case does not matter. Raises ContentsError, which
    does not repeat a value that may be a secret.
    """
    pairs: list[tuple[str, Any]]
    if text.startswith("{"):
        pairs = list(read_object(text).items())
    else:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        pairs = [(name.strip(), variable.strip()) for name, _, variable in parts]
    headers: JSON = {}
    for name, variable in pairs:
        if not _HEADER.fullmatch(name):
            raise ContentsError("has a header without a name that HTTP allows; correct it")
        if name.lower() in OWN_HEADERS:
            raise ContentsError(f"may not contain {name!r}, which Tandem itself sends")
        if not is_variable(variable):
            raise ContentsError(
                f"gives no variable for {name!r}; give the name of the environment variable that "
                "holds its value, not the value"
            )
        if name.lower() in headers:
            raise ContentsError(f"has {name!r} twice; give it once")
        headers[name.lower()] = variable
    if not 0 < len(headers) <= MAX_HEADERS:
        raise ContentsError(f"has {len(headers)} headers; give 1 to {MAX_HEADERS}")
    if len(json.dumps(headers)) > MAX_HEADERS_LENGTH:
        raise ContentsError(f"has over {MAX_HEADERS_LENGTH:,} characters; shorten the names")
    return {name: headers[name] for name in sorted(headers)}


def read_addresses(text: str) -> list[str]:
    """Read base URLs that are separated by commas or blanks, or a JSON list of them.

    They come back in the form in which they are asked, in the order given. Raises ContentsError.
    """
    try:
        given = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
    except (ValueError, RecursionError) as error:
        raise ContentsError("is not a JSON list; give addresses separated by commas") from error
    found: list[str] = []
    for each in given:
        if not isinstance(each, str) or not 0 < len(each) <= MAX_ADDRESS_LENGTH:
            raise ContentsError(
                f"has something other than an address of at most {MAX_ADDRESS_LENGTH} characters"
            )
        try:
            url = parse_base_url(each, "")
        except SetupError as error:
            raise ContentsError(f"names an address that cannot be used: {error}") from error
        if url in found:
            raise ContentsError(f"has the address {url} twice; give it once")
        found.append(url)
    if not 0 < len(found) <= MAX_ADDRESSES:
        raise ContentsError(f"has {len(found)} addresses; give 1 to {MAX_ADDRESSES}")
    return found


def check_once(params: Mapping[str, Any], keys: Mapping[str, tuple[str, ...]]) -> None:
    """Check that no part of a body is given twice. `keys` are the body's keys for a param.

    Raises SetupError.
    """
    extra, omitted = params.get("extra_body", {}), params.get("omit", ())
    given = {key: name for name in params for key in keys.get(name, (name,))}
    if twice := [key for key in extra if key in given]:
        raise SetupError(
            f"extra_body contains {twice[0]!r}, and so does the param {given[twice[0]]}; give it "
            "once"
        )
    if both := [name for name in omitted if name in params or name in extra]:
        raise SetupError(f"{both[0]} is both given and omitted; do one of the two")


def is_deterministic(params: Mapping[str, Any]) -> bool:
    """Return whether a judge with these params samples at temperature 0, which is the default."""
    thinks = "thinking" in params.get("extra_body", {})
    left_to_server = thinks or "temperature" in params.get("omit", ())
    return not (left_to_server or params.get("temperature", 0.0))


def sorted_object(value: Any) -> Any:
    """Sort the keys of all objects, since databases differ in whether they keep their order."""
    if isinstance(value, Mapping):
        return {key: sorted_object(value[key]) for key in sorted(value)}
    return [sorted_object(each) for each in value] if isinstance(value, list) else value


def _check_value(value: Any, depth: int) -> None:
    """Check that every database stores a value and every server can read it."""
    if depth < 0:
        raise ContentsError(f"is nested deeper than {MAX_DEPTH} levels; simplify it")
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise ContentsError("contains a character that cannot be stored; remove it")
    if isinstance(value, float) and not math.isfinite(value):
        raise ContentsError("contains a number that is too large; correct it")
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    for part in parts if isinstance(parts, list) else ():
        _check_value(part, depth - 1)


def _reject_constant(constant: str) -> None:
    raise ValueError(constant)
