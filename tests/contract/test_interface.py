"""Paths, members, options and columns that outside scripts rely on are those on record.

They may be added to; none may be renamed or go without an announcement.
"""

from __future__ import annotations

from tests.contract.interface import RECORD, interface


def test_the_interface_is_the_one_on_record() -> None:
    before, now = set(RECORD.read_text("utf-8").splitlines()), set(interface())
    gone, new = sorted(before - now), sorted(now - before)
    assert not gone, f"scripts rely on what is no longer there: {gone}"
    assert not new, f"record what was added, by python -m tests.contract.interface: {new}"
