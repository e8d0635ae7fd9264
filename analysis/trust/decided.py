"""The cells that a judge may decide now: those that a certificate's certified cuts accept."""

from __future__ import annotations

from annotation.exports.decided import Certified
from annotation.models import TrustCertificate, Unit
from tandem.trust.canonical import digest_of


def certified_cells(certificate: TrustCertificate) -> Certified:
    """Return what a certificate covers, no cells if anything has changed since its commitment."""
    plan, units = certificate.plan, _accepted(certificate)
    rows = Unit.objects.filter(item__campaign=plan.campaign_id).order_by()
    names = {unit: (item, key) for unit, item, key in rows.values_list("pk", "item__key", "key")}
    judge = plan.judge.name if plan.judge else ""
    cells = frozenset(names[unit] for unit in units)
    return Certified(certificate.digest, judge, plan.variable, cells)


def _accepted(certificate: TrustCertificate) -> list[int]:
    """Return the units that the loosest certified cut accepts, by primary key."""
    # Most processes export nothing, and a look needs much to be loaded.
    from analysis.trust.looks import look_at

    plan, document = certificate.plan, certificate.document
    if plan.judge is None or digest_of(document) != certificate.digest:
        return []
    look = look_at(plan)
    if look.stale:
        return []
    cut = plan.document["cuts"][document["predicate"]["certified"] - 1]
    found: list[int] = look.cells.unit[look.cells.sure >= cut["threshold"]].tolist()
    return found
