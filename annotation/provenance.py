"""The basis of an answer: digests of the questions, the texts and the guideline that it refers to.

The basis shows what a rater saw, even on a page that was opened before an upgrade, or before a text
was changed in the database. It covers only what the page shows: no id, no system's name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from annotation.protocols.schema import CampaignSchema
from tandem.protocols.base import ItemSpec, UnitSpec

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

LENGTH = 12
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True)
BASIS_PARTS = ("questions", "texts", "guideline")
_FORM = re.compile(rf"[0-9a-f]{{{LENGTH}}}(-[0-9a-f]{{{LENGTH}}}){{2}}")


@dataclass(frozen=True)
class Basis:
    """Hexadecimal digests of 12 digits. `Response.basis` stores them joined by hyphens."""

    questions: str
    texts: str
    guideline: str

    def __str__(self) -> str:
        return f"{self.questions}-{self.texts}-{self.guideline}"

    def differs(self, other: str) -> list[str]:
        """Return which of the three differ in another basis, or all if it is malformed."""
        if not _FORM.fullmatch(other):
            return list(BASIS_PARTS)
        pairs = zip(BASIS_PARTS, astuple(self), other.split("-"), strict=True)
        return [name for name, mine, theirs in pairs if mine != theirs]


def basis_of(
    asked: CampaignSchema, spec: ItemSpec, units: Iterable[UnitSpec], beside: str = ""
) -> Basis:
    """Return the basis of an item as it is shown now, with the units asked of this rater.

    The order of units and texts does not count, since assignments record it. `beside` is a text
    that is not the item's own, such as the first answer in a second round.
    """
    return Bases(asked).of(spec, units, beside)


class Bases:
    """Compute bases for many answers to one schema, digesting their common parts only once."""

    def __init__(self, asked: CampaignSchema) -> None:
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
        """Return the digest of the list of texts, to be continued with the units' texts."""
        if self._begun is None or self._begun[0] is not spec or self._begun[1] != beside:
            shown: list[Any] = sorted(text.text for text in spec.texts)
            shown += [beside] if beside else []
            # Items without a conversation keep the basis that they have always had.
            shown += [[[turn.role, turn.text] for turn in spec.earlier]] if spec.earlier else []
            digest = hashlib.sha256(b"[" + _canonical(shown) + b", ")
            self._begun = spec, beside, digest
        return self._begun[2]

    def _questions_of(self, kinds: frozenset[str]) -> str:
        if kinds not in self._questions:
            asked = [_questions(self._asked, kind) for kind in sorted(kinds)]
            self._questions[kinds] = _digest(asked)
        return self._questions[kinds]


def _questions(asked: CampaignSchema, kind: str) -> list[Any]:
    words = [
        [v.name, v.question, dict(v.words), dict(v.asked_if)] for v in asked.variables_of(kind)
    ]
    return [kind, asked.unit_schema(kind), words]


def guideline_digest(text: str) -> str:
    """Return the digest of a guideline as it is in a basis."""
    return _digest(text)


def _digest(thing: Any) -> str:
    return hashlib.sha256(_canonical(thing)).hexdigest()[:LENGTH]


def _canonical(thing: Any) -> bytes:
    # A file may contain half a surrogate pair, which JSON escapes but UTF-8 cannot encode.
    return _ENCODER.encode(thing).encode("ascii")
