"""Compare stored digests of texts with the texts that are stored beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.db import models

from audit.violations import Check, Place, Violation

DIGESTS = Check(
    "digests",
    "each stored digest is that of the text beside it: prompts and judge files, guidelines, "
    "snapshots, studies, drafts",
    "Restore the text from a backup: the one that has the digest is the one that was used. Answers "
    "of a judge belong to the text with the digest that its runs and the audit trail name.",
)


def sha256_of(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class StoredDigest:
    """A column with the digest of another column's text, both empty or neither.

    The digest may also be of the columns `beside` the text.
    """

    model: type[models.Model]
    column: str
    text: str
    digest: Callable[..., str | None]
    where: Mapping[str, str]
    beside: tuple[str, ...] = ()

    def find_violations(self) -> Iterator[Violation]:
        columns = ("pk", self.column, self.text, *self.where.values(), *self.beside)
        rows = self.model._base_manager.order_by("pk").values_list(*columns)
        for pk, stored, text, *others in rows.iterator(chunk_size=200):
            names, beside = others[: len(self.where)], others[len(self.where) :]
            if stored != (self.digest(text, *beside) if text else stored and self.digest("")):
                yield self._violation(pk, names)

    def _violation(self, pk: int, names: list[Any]) -> Violation:
        named = dict(zip(self.where, names, strict=True))
        place: Place = {**named, "column": self.text, "table": self.model._meta.db_table, "id": pk}
        words = ", ".join(f"{name} {value}" for name, value in named.items())
        what = f"its {self.text} has another digest than {self.column} says"
        thing = self.model._meta.verbose_name
        return Violation(DIGESTS.name, f"{words}, {thing} {pk}: {what}", place)


STORED: list[StoredDigest] = []


def register_digests(digests: Iterable[StoredDigest]) -> None:
    STORED.extend(digests)


def find_wrong_digests() -> Iterator[Violation]:
    """Yield a violation for each text whose digest differs from the stored one."""
    for each in STORED:
        yield from each.find_violations()
