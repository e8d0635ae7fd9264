"""What a protocol's own page adds to the generic one. Data, not behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.item_context import Sheet
from annotation.models import Assignment
from annotation.protocols.base import ItemSpec

Facts = Callable[[Assignment, ItemSpec, Sheet], Mapping[str, Any]]


def _nothing(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Page:
    """The page of a protocol's items.

    `template` extends `work/item.html`; `script` is a module that imports `item.js` and adds to
    its `desk`; `style` is loaded beside `item.css`. `keys` are its own, with what they do, for the
    list of keys. `facts` go into the template beside the sheet.
    """

    template: str = "work/item.html"
    script: str = "js/item.js"
    style: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    facts: Facts = _nothing
