"""The missing reasons of an assignment, by unit and variable."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.models import Assignment
from tandem.protocols.schema import Schema

Reasons = dict[str, dict[str, str]]
"""Reasons by unit name and variable."""


def reasons(assignment: Assignment, asked: Schema, kinds: Mapping[str, str]) -> Reasons:
    """Return the missing reasons of an assignment. `kinds` are the kinds of its units by name.

    If the whole answer is missing, its reason applies to each variable that is always asked.
    """
    if assignment.missing or assignment.status not in ("failed", "declined"):
        return {name: dict(each) for name, each in assignment.missing.items()}
    return {
        name: {
            v.name: assignment.reason
            for v in asked.variables_of(kind)
            if asked.holds(v.asked_if, {})
        }
        for name, kind in kinds.items()
    }


def merge_reasons(old: Reasons, new: Reasons) -> Reasons:
    """Return old and new reasons together. The new reason wins where both have one."""
    return {name: {**old.get(name, {}), **new.get(name, {})} for name in {**old, **new}}
