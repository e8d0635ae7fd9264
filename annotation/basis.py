"""What an answer was given to, in three digests: the questions, the texts, and the guideline.

A page that was opened before an upgrade, or before somebody changed a text behind our back, says
what its rater saw. The digests hold nothing but what stood on the page: no id, no system's name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

from annotation.protocols.base import ItemSpec, UnitSpec
from annotation.protocols.schema import Schema

LENGTH = 12
WHAT = ("questions", "texts", "guideline")
_FORM = re.compile(rf"[0-9a-f]{{{LENGTH}}}(-[0-9a-f]{{{LENGTH}}}){{2}}")


@dataclass(frozen=True)
class Basis:
    """Hexadecimal digests, 12 digits each; as text joined by hyphens, as `Response.basis` is."""

    questions: str
    texts: str
    guideline: str

    def __str__(self) -> str:
        return "-".join(astuple(self))

    def differs(self, other: str) -> list[str]:
        """Which of the three are another in the text of a basis; all if it is none."""
        if not _FORM.fullmatch(other):
            return list(WHAT)
        pairs = zip(WHAT, astuple(self), other.split("-"), strict=True)
        return [name for name, mine, theirs in pairs if mine != theirs]


def basis_of(asked: Schema, spec: ItemSpec, units: Iterable[UnitSpec], beside: str = "") -> Basis:
    """The basis of an item as it is shown now, with the units that are asked of this rater.

    Their order, and that of the texts, does not count: it is recorded elsewhere. `beside` is a text
    that the item does not have by itself, such as the first answer in a second round.
    """
    units = list(units)
    shown = sorted(text.text for text in spec.texts) + ([beside] if beside else [])
    return Basis(
        questions=_digest([_questions(asked, kind) for kind in sorted({u.kind for u in units})]),
        texts=_digest([shown, sorted(u.text for u in units)]),
        guideline=_digest(asked.protocol.guideline),
    )


def _questions(asked: Schema, kind: str) -> list[Any]:
    words = [[v.name, v.question, dict(v.words), dict(v.asked_if)] for v in asked.of(kind)]
    return [kind, asked.unit_schema(kind), words]


def _digest(thing: Any) -> str:
    # A file may bring half a surrogate pair, which JSON's escapes keep and UTF-8 would refuse.
    text = json.dumps(thing, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:LENGTH]
