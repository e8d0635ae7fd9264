"""A matter that needs attention, what can be done about it, and the declaration of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from django.urls import reverse

if TYPE_CHECKING:
    from analysis.attention.facts import Facts

Severity = Literal["urgent", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = ("urgent", "warning", "hint")
"""In the order in which matters are listed. Only a hint needs no action."""
Topic = Literal["people", "judges", "labels", "design"]


@dataclass(frozen=True)
class Action:
    """A button: what it does in a word or two, and the page where it is done.

    An action that `changes` something is only for accounts that may change the campaign.
    """

    label: str
    page: str
    args: tuple[object, ...] = ()
    query: Mapping[str, object] = field(default_factory=dict)
    anchor: str = ""
    changes: bool = False

    @property
    def address(self) -> str:
        query = f"?{urlencode(self.query)}" if self.query else ""
        anchor = f"#{self.anchor}" if self.anchor else ""
        return f"{reverse(self.page, args=self.args)}{query}{anchor}"


@dataclass(frozen=True)
class Finding:
    """What a rule finds: how urgent it is, one sentence, and what can be done."""

    severity: Severity
    text: str
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule of the registry.

    A rule that `tells_answers` reveals others' answers, so it is hidden from accounts with an open
    item in the campaign.
    """

    code: str
    topic: Topic
    find: Callable[[Facts], Iterable[Finding]]
    tells_answers: bool = False


@dataclass(frozen=True)
class Matter:
    """A finding and its rule, in the form that pages, the API and the command show."""

    code: str
    topic: Topic
    severity: Severity
    text: str
    actions: tuple[Action, ...]

    @property
    def headline(self) -> str:
        """The first sentence, for a list in which several campaigns stand."""
        first, ends, _ = self.text.partition(". ")
        return f"{first}." if ends else first

    def as_json(self, site: Callable[[str], str]) -> dict[str, Any]:
        """Return the matter as JSON. `site` turns a path into an address."""
        return {
            "code": self.code,
            "topic": self.topic,
            "severity": self.severity,
            "text": self.text,
            "actions": [
                {"name": each.label, "address": site(each.address)} for each in self.actions
            ],
        }


def count(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: 1 slot, 1,200 slots, 2 queries."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
