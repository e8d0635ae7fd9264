"""The kinds of jobs, which the apps register, and the types of their results.

A kind is declared beside the code that it runs, and registered in the module `kinds` of its app.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils.module_loading import autodiscover_modules

from audit.looks import Note

JSON_TYPE = "application/json"
Options = Mapping[str, Any]
"""A job's options as JSON values. Equal options of one kind are the same question."""


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


class Publish(Protocol):
    """Shows what exists of a result while its job runs.

    The stage is one of `datasets.work.results`, and `looks` are what it shows of others' answers.
    """

    def __call__(self, part: Result, stage: str, looks: Iterable[Note]) -> None: ...


@dataclass(frozen=True)
class Kind:
    """A kind of job.

    `state` returns what the result depends on beside the options, such as the number of the newest
    label. While both stay the same, the last result is valid. `carry_out` computes the result in a
    separate process, and may raise JobError. `may_see` says whether a person may still see results
    for these options. `title` names the result in a sentence. A kind that is not `listed` is a part
    that pages ask for by themselves: the list of a person's reports and exports leaves it out. Jobs
    of `heavy` kinds resample the labels of a whole campaign, which takes up to minutes. Workers
    keep a place for the others, which never wait for them. The result of a kind that `grows` can be
    read while its job runs: `carry_out` publishes its parts, as `Publish` says.
    """

    name: str
    title: str
    state: Callable[[Options], Any]
    carry_out: Callable[..., Result]
    may_see: Callable[[Any, Options], bool]
    listed: bool = True
    heavy: bool = False
    grows: bool = False


_kinds: dict[str, Kind] = {}
_names: dict[str, Callable[[Any], str]] = {}


def register(*kinds: Kind) -> None:
    _kinds.update((kind.name, kind) for kind in kinds)


def register_name(option: str, name_of: Callable[[Any], str]) -> None:
    """Declare the name under which lists of jobs show an option, such as a campaign's key."""
    _names[option] = name_of


def subject_names(options: Options) -> list[str]:
    """Return the names of what a job is about, such as the campaign's name and the export's."""
    found = (name_of(options[option]) for option, name_of in _names.items() if option in options)
    return [name for name in found if name]


def heavy_kinds() -> list[str]:
    """Return the names of the kinds that light jobs do not wait for."""
    autodiscover_modules("kinds")
    return [kind.name for kind in _kinds.values() if kind.heavy]


def kind_named(name: str) -> Kind:
    """Return a kind. Raises KeyError for one that no app registers."""
    if name not in _kinds:
        autodiscover_modules("kinds")
    return _kinds[name]
