"""How long a server asks to be left alone, in the forms that servers use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 120.0
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)


def wait_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, from Retry-After or else the x-ratelimit-reset headers.

    None where nothing is said, or nothing that can be followed: garbage, a time that has passed,
    or more than `LONGEST` seconds.
    """
    if "retry-after" in headers:
        return _followable(_seconds(headers["retry-after"], now))
    resets = [_followable(_seconds(headers[name], now)) for name in _RESETS if name in headers]
    return max((wait for wait in resets if wait is not None), default=None)


def _followable(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= LONGEST else None


def _seconds(text: str, now: datetime) -> float | None:
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        return _duration(text) if _DURATION.fullmatch(text) else _until(text, now)
    return number if math.isfinite(number) else None


def _duration(text: str) -> float:
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _until(text: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    try:
        return (aware - now).total_seconds()
    except OverflowError:
        return None
