"""The declaration of a protocol's own item page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.item_context import Sheet
from annotation.models import Assignment
from tandem.protocols.base import ItemSpec

Facts = Callable[[Assignment, ItemSpec, Sheet], Mapping[str, Any]]


def _no_facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Page:
    """The page of a protocol's items.

    `template` extends `work/item.html`. `script` is a module that imports `item.js` and extends its
    `desk`. `style` is loaded after `item.css`. `keys` are the page's own keyboard keys with their
    actions, for the list of keys. `words` are its buttons' words by code, if they differ from the
    protocol's. `facts` returns the template's context in addition to the sheet.
    """

    template: str = "work/item.html"
    script: str = "js/item.js"
    style: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    facts: Facts = _no_facts
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_n(self) -> bool:
        """Whether the page gives a meaning of its own to the key `n`."""
        return any("n" in keys.split() for keys, _ in self.keys)
