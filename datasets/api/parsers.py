"""Reading a JSON body: within limits, without duplicate keys, only text that can be stored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from datasets.api.errors import TooLargeError

DEEPEST = 64


class StrictJSONParser(BaseParser):
    """One JSON value.

    Refused are a body above LONGEST_JSON of the settings (413); and with 400 a key that
    comes twice, a number that is none or beyond what a float holds, more than 64 levels, and a NUL
    or half a surrogate pair in any text, which no database of ours could keep.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        most = min(settings.LONGEST_JSON, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        given = stream.read(most + 1)
        if len(given) > most:
            raise TooLargeError(f"the body is above {most} bytes; send less at once")
        return parsed(given)


def parsed(given: bytes) -> Any:
    """The value of a body. Raises ParseError."""
    try:
        value = json.loads(
            given.decode("utf-8"),
            object_pairs_hook=_unambiguous,
            parse_float=_finite,
            parse_constant=_no_number,
        )
    except UnicodeDecodeError as error:
        raise ParseError("the body is not UTF-8; send it in that encoding") from error
    except RecursionError as error:
        raise ParseError(_TOO_DEEP) from error
    except ValueError as error:
        raise ParseError(f"the body is not JSON ({error}); mend it") from error
    _check(value)
    return value


_TOO_DEEP = f"the body has more than {DEEPEST} levels; flatten it"


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice in one object")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _check(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return
    raise ParseError(_TOO_DEEP)


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise ParseError("a text holds a character that no text may hold; take it out")
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list):
        yield from value
