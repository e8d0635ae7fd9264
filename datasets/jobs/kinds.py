"""The kinds of jobs, which the apps register, and the types of their results.

A kind is declared beside the code that it runs, and named in the module `jobs` of its app.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.module_loading import autodiscover_modules

JSON_TYPE = "application/json"
Options = Mapping[str, Any]
"""What is asked, as values for JSON: two equal mappings of a kind are the same question."""
Progress = Callable[[int, int], None]
"""Reports how much is done, and of how much; 0 if that is unknown."""


class JobError(Exception):
    """A job cannot be carried out. The message is one sentence for the person who asked."""


@dataclass(frozen=True)
class Result:
    """The result of a job: a file in pieces, the name under which it is sent, and its type."""

    pieces: Iterable[bytes]
    name: str = "result.json"
    media_type: str = JSON_TYPE

    @classmethod
    def of(cls, value: Any) -> Result:
        """Return a result that is a value for JSON."""
        return cls([json.dumps(value, ensure_ascii=False).encode()])


@dataclass(frozen=True)
class Kind:
    """A kind of job.

    `state` returns everything but the options that the result depends on, such as the number of
    the newest label: while it and the options stay the same, the last result holds. `carry_out`
    computes the result in a process of its own; it may raise JobError. `may_see` says whether a
    person may still see results for these options. `title` names the result in a sentence.
    """

    name: str
    title: str
    state: Callable[[Options], Any]
    carry_out: Callable[[Options, Progress], Result]
    may_see: Callable[[Any, Options], bool]


@dataclass(frozen=True)
class Ledger:
    """What an app has noted about a result while it is computed, and told when it is shown.

    `collected` yields a list of values for JSON, which is complete when it ends. They are kept with
    the result, and `deliver` gets them whenever a person gets the result.
    """

    collected: Callable[[], AbstractContextManager[list[Any]]]
    deliver: Callable[[Sequence[Any]], None]


_ledgers: list[Ledger] = []


def keep_ledger(ledger: Ledger) -> None:
    _ledgers.append(ledger)


@contextmanager
def noted() -> Iterator[list[list[Any]]]:
    """Yield what the ledgers noted, a list for each, which are complete when it ends."""
    _discover()
    with ExitStack() as stack:
        yield [stack.enter_context(ledger.collected()) for ledger in _ledgers]


def deliver(notes: Sequence[Sequence[Any]]) -> None:
    """Tell the ledgers that a person gets a result with these notes."""
    _discover()
    for ledger, rows in zip(_ledgers, notes, strict=False):
        ledger.deliver(rows)


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    _kinds[kind.name] = kind
    return kind


def kind_named(name: str) -> Kind:
    """Return a kind. Raises KeyError for one that no app registers."""
    _discover()
    return _kinds[name]


@cache
def _discover() -> None:
    """Import the module `jobs` of every app, once."""
    autodiscover_modules("jobs")
