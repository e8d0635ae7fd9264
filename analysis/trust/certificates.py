"""Issue the certificate of a plan: what its labels have proven until now, as a row that stays."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from analysis.trust.cells import Cells, TrustError
from analysis.trust.labels import answers_of
from analysis.trust.looks import record_look
from annotation.models import Campaign, Label, TrustCertificate, TrustPlan
from audit.recording import record
from tandem.trust.canonical import digest_of
from tandem.trust.cells import OF_ADJUDICATORS
from tandem.trust.certificate import CertificateError, Floor, certificate
from tandem.trust.floor import floor_of_truth


def issue(plan: TrustPlan) -> TrustCertificate:
    """Look at a plan, and store its certificate. Raises TrustError if nothing is certified."""
    if plan.kind != TrustPlan.Kind.CERTIFY:
        raise TrustError("a plan that compares systems has no certificate: see trust compare")
    with transaction.atomic():
        look = record_look(plan)
        if look.stale:
            raise TrustError(f"nothing is certified: {'; '.join(look.stale)}")
        looks = [
            {"at": each.at.isoformat(timespec="seconds"), "labelled": each.labelled}
            for each in plan.looks.order_by("pk")
        ]
        now = timezone.now().isoformat(timespec="seconds")
        labelled = [(look.state.query_of(key), own) for key, own in look.state.labelled.items()]
        try:
            floor = floor_of(plan, look.cells)
            document = certificate(
                plan.document, labelled, looks, now, floor, look.labels.by_system
            )
        except CertificateError as error:
            raise TrustError(f"{error}: draw and label more queries") from error
        made = TrustCertificate.objects.create(
            plan=plan, document=document, digest=digest_of(document)
        )
        record("trust.certified", plan.campaign_id, plan, digest=made.digest)
    return made


def certificates_of(campaign: Campaign) -> QuerySet[TrustCertificate]:
    """Return the certificates of all plans of a campaign."""
    return TrustCertificate.objects.filter(plan__campaign=campaign)


def floor_of(plan: TrustPlan, cells: Cells) -> Floor:
    """Return the risk that a faultless judge is expected to have, by the votes on drawn queries."""
    if plan.document["truth"] == "adjudicated":
        return Floor(None, OF_ADJUDICATORS)
    codes = cells.codes[: cells.categories]
    labels = Label.objects.filter(response__in=answers_of(plan), variable=plan.variable)
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for unit, value in labels.values_list("unit", "value"):
        votes[unit][value] += 1
    counts = np.array([[own[code] for code in codes] for own in votes.values()], dtype=np.int64)
    found = floor_of_truth(counts.reshape(-1, len(codes)))
    return Floor(found.value, found.reason or None)
