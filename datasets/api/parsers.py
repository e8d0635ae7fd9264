"""Parse JSON bodies strictly: limited size, no duplicate keys, only text that can be stored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from datasets.api.base import TooLargeError

MAX_DEPTH = 64


class StrictJSONParser(BaseParser):
    """Parses one JSON value.

    A body above the setting LONGEST_JSON is refused with 413. Refused with 400 are a repeated key,
    NaN, a number too large for a float, more than 64 levels, and a NUL or half a surrogate pair in
    a text, which the database could not store.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        most = min(settings.LONGEST_JSON, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return parse_body(read_body(stream, most))


def read_body(stream: IO[Any], most: int) -> bytes:
    """Return a body of at most so many bytes. Raises TooLargeError."""
    body: bytes = stream.read(most + 1)
    if len(body) > most:
        raise TooLargeError(f"the body is above {most} bytes; send less at once")
    return body


def parse_body(body: bytes) -> Any:
    """Return the value of a body. Raises ParseError."""
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_without_repeated_keys,
            parse_float=_finite,
            parse_constant=_no_number,
        )
    except UnicodeDecodeError as error:
        raise ParseError("the body is not UTF-8; send it in that encoding") from error
    except RecursionError as error:
        raise ParseError(_TOO_DEEP) from error
    except ValueError as error:
        raise ParseError(f"the body is not JSON ({error}); correct it") from error
    _check(value)
    return value


_TOO_DEEP = f"the body has more than {MAX_DEPTH} levels; flatten it"


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return members


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _check(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _checked_children(each)]
        if not level:
            return
    raise ParseError(_TOO_DEEP)


def _checked_children(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise ParseError("a text holds a NUL or half a surrogate pair; remove it")
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list):
        yield from value
