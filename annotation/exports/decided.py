"""Who decided the cell of a label: a person, or a judge that a certificate lets decide it.

The column is for readers of the file. Tandem reads it nowhere, so that no figure follows from it:
what a certificate says of a share of the cells says nothing of means and rankings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from annotation.models import Campaign, Rater, TrustCertificate
from tandem.labels.file.rows import LabelRow

PERSON = "person"
PEOPLE = (Rater.Kind.HUMAN, Rater.Kind.REFERENCE)


@dataclass(frozen=True)
class Certified:
    """The `cells` (item, unit) of a variable that a judge may decide under a certificate."""

    digest: str
    judge: str
    variable: str
    cells: frozenset[tuple[str, str]]


_finders: list[Callable[[TrustCertificate], Certified]] = []


def register_certified(find: Callable[[TrustCertificate], Certified]) -> None:
    """Let this function say what a certificate covers: no cells if it is stale."""
    _finders.append(find)


def newest_certificate(campaign: Campaign) -> TrustCertificate | None:
    rows = TrustCertificate.objects.filter(plan__campaign=campaign)
    return rows.select_related("plan__campaign", "plan__judge").order_by("-id").first()


def with_decisions(campaign: Campaign, rows: Iterable[LabelRow]) -> Iterator[LabelRow]:
    """Yield the rows of a campaign with who decided them, as they are without a certificate."""
    certificate = newest_certificate(campaign)
    if certificate is None:
        yield from rows
        return
    certified = _finders[-1](certificate)
    for row in rows:
        yield replace(row, decided_by=_decided_by(row, certified))


def _decided_by(row: LabelRow, certified: Certified) -> str | None:
    if row.value is None:
        return None
    if row.rater_kind in PEOPLE:
        return PERSON
    of = (row.rater, row.variable, row.replicate) == (certified.judge, certified.variable, 0)
    return f"judge under {certified.digest}" if of and _cell(row) in certified.cells else None


def _cell(row: LabelRow) -> tuple[str, str]:
    return row.item, row.unit
