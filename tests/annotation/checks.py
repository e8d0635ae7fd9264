"""Checking the answer to the first of some units: its entry, or the problems in words."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.protocols.base import UnitSpec
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Channel, Entry, RefusedError, check

STRICT: tuple[Channel, ...] = ("page", "api", "judge")


def entry(schema: Schema, units: dict[str, UnitSpec], answer: Any, door: Channel = "api") -> Entry:
    name = next(iter(units))
    entries, warnings = check(schema, units, {name: answer}, door)
    assert warnings == []
    return entries[0]


def refused(
    schema: Schema, units: dict[str, UnitSpec], answer: Any, door: Channel = "api"
) -> list[str]:
    name = next(iter(units))
    with pytest.raises(RefusedError) as error:
        check(schema, units, {name: answer}, door)
    return [str(p) for p in error.value.problems]
