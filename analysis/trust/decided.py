"""The cells that a judge may decide now: those that a certificate's certified cuts accept."""

from __future__ import annotations

from annotation.exports.decided import Certified
from annotation.models import TrustCertificate, Unit
from tandem.trust.canonical import digest_of


def certified_cells(certificate: TrustCertificate) -> Certified:
    """Return what a certificate covers, no cells if anything has changed since its commitment."""
    # Most processes export nothing, and a look needs much to be loaded.
    from analysis.trust.looks import look_at

    plan = certificate.plan
    assert plan.judge is not None
    look = look_at(plan)
    units: list[int] = []
    if not look.stale and digest_of(certificate.document) == certificate.digest:
        cut = plan.document["cuts"][certificate.document["predicate"]["certified"] - 1]
        units = look.cells.unit[look.cells.sure >= cut["threshold"]].tolist()
    rows = Unit.objects.filter(item__campaign=plan.campaign_id).order_by()
    names = {unit: (item, key) for unit, item, key in rows.values_list("pk", "item__key", "key")}
    cells = frozenset(names[unit] for unit in units)
    return Certified(certificate.digest, plan.judge.name, plan.variable, cells)
