"""Three digests of what an answer was given to: the questions, the texts, and the guideline.

So a page that was opened before an upgrade, or before a text was changed in the database, tells
what its rater saw. The digests cover only what the page showed: no id, no system's name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from annotation.protocols.base import ItemSpec, UnitSpec
from annotation.protocols.schema import Schema

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

LENGTH = 12
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True)
WHAT = ("questions", "texts", "guideline")
_FORM = re.compile(rf"[0-9a-f]{{{LENGTH}}}(-[0-9a-f]{{{LENGTH}}}){{2}}")


@dataclass(frozen=True)
class Basis:
    """Hexadecimal digests, 12 digits each; as text joined by hyphens, as `Response.basis` is."""

    questions: str
    texts: str
    guideline: str

    def __str__(self) -> str:
        return f"{self.questions}-{self.texts}-{self.guideline}"

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
    return Bases(asked).of(spec, units, beside)


class Bases:
    """The same for many answers to one schema: what they share is read and digested once."""

    def __init__(self, asked: Schema) -> None:
        self._asked = asked
        self._guideline = _digest(asked.protocol.guideline)
        self._questions: dict[frozenset[str], str] = {}
        self._begun: tuple[ItemSpec, str, Digest] | None = None

    def of(self, spec: ItemSpec, units: Iterable[UnitSpec], beside: str = "") -> Basis:
        units = list(units)
        texts = self._texts(spec, beside).copy()
        texts.update(_canonical(sorted(u.text for u in units)) + b"]")
        return Basis(
            questions=self._questions_of(frozenset(u.kind for u in units)),
            texts=texts.hexdigest()[:LENGTH],
            guideline=self._guideline,
        )

    def _texts(self, spec: ItemSpec, beside: str) -> Digest:
        """What was digested of a list of the texts and of the units' words, up to the latter."""
        if self._begun is None or self._begun[0] is not spec or self._begun[1] != beside:
            shown = sorted(text.text for text in spec.texts) + ([beside] if beside else [])
            digest = hashlib.sha256(b"[" + _canonical(shown) + b", ")
            self._begun = spec, beside, digest
        return self._begun[2]

    def _questions_of(self, kinds: frozenset[str]) -> str:
        if kinds not in self._questions:
            asked = [_questions(self._asked, kind) for kind in sorted(kinds)]
            self._questions[kinds] = _digest(asked)
        return self._questions[kinds]


def _questions(asked: Schema, kind: str) -> list[Any]:
    words = [
        [v.name, v.question, dict(v.words), dict(v.asked_if)] for v in asked.variables_of(kind)
    ]
    return [kind, asked.unit_schema(kind), words]


def guideline_digest(text: str) -> str:
    """What a basis holds of a guideline."""
    return _digest(text)


def _digest(thing: Any) -> str:
    return hashlib.sha256(_canonical(thing)).hexdigest()[:LENGTH]


def _canonical(thing: Any) -> bytes:
    # A file may bring half a surrogate pair, which JSON's escapes keep and UTF-8 would refuse.
    return _ENCODER.encode(thing).encode("ascii")
