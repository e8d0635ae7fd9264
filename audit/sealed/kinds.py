"""Declarations of what is sealed: kinds of objects, their columns, and excluded columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from django.db import models

Events = tuple[str, ...]
Columns = Mapping[str, Events]
CAMPAIGN = "campaign"


def fixed(*columns: str) -> Columns:
    """Return columns that never change."""
    return dict.fromkeys(columns, ())


def by(events: Iterable[str], *columns: str) -> Columns:
    """Return columns whose changes these events explain."""
    return dict.fromkeys(columns, tuple(events))


@dataclass(frozen=True)
class Part:
    """Rows that belong to an object, such as the labels of an answer.

    `of` is the path to the object's key, and `order` the columns that order the rows.
    """

    name: str
    model: type[models.Model]
    of: str
    columns: Columns
    order: tuple[str, ...] = ("pk",)


@dataclass(frozen=True)
class Kind:
    """A kind of objects. One digest covers all `columns` of an object and those of its `parts`.

    Columns may be paths to rows that the object belongs to. `where` has the paths to the names by
    which people know the object. `scope` has the paths to the ids by which events refer to it, by
    the events' `object_kind`; with `campaign`, events of its campaign about other things concern
    it, too. An object may be added only with an event of `made`, and deleted only with one of
    `gone` (None: also without). `only` selects the objects whose state is final. `salt` is the path
    to a value that is deleted with the object, so that nobody can find out by trying what a deleted
    answer was.
    """

    name: str
    model: type[models.Model]
    columns: Columns
    where: Mapping[str, str]
    scope: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    made: Events | None = None
    gone: Events | None = ()
    salt: str = ""
    only: models.Q = field(default_factory=models.Q)

    @cached_property
    def events_of(self) -> Mapping[str, Events]:
        """The events that explain a change, by the name of the column in fingerprints."""
        found = dict(self.columns)
        for part in self.parts:
            found |= {f"{part.name}.{name}": events for name, events in part.columns.items()}
        return found

    @cached_property
    def explaining(self) -> frozenset[str]:
        """All events that explain any change of an object."""
        return frozenset(name for events in self.events_of.values() for name in events)


KINDS: dict[str, Kind] = {}
EXCLUDED: dict[type[models.Model], Mapping[str, str]] = {}
"""The reasons why columns are not sealed, by model. The name `*` excludes a whole model."""


def register(
    kinds: Iterable[Kind], excluded: Mapping[type[models.Model], Mapping[str, str]]
) -> None:
    """Add the declarations of an app."""
    KINDS.update((kind.name, kind) for kind in kinds)
    EXCLUDED.update(excluded)


def sealed_columns() -> dict[type[models.Model], set[str]]:
    """Return the names of all sealed columns by model, also those that kinds reach by a path."""
    found: dict[type[models.Model], set[str]] = {}
    for kind in KINDS.values():
        for path in kind.columns:
            _add(found, kind.model, path)
        for part in kind.parts:
            for path in (*part.columns, *part.of.split("__")[:1]):
                _add(found, part.model, path)
    return found


def _add(found: dict[type[models.Model], set[str]], model: type[models.Model], path: str) -> None:
    """Add the column that a path ends in."""
    *steps, column = path.split("__")
    for step in steps:
        related = model._meta.get_field(step).related_model
        if not isinstance(related, type):
            raise TypeError(f"{path}: {step} is no relation")
        model = related
    found.setdefault(model, set()).add(column)
