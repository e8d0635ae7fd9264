"""Access to studies: an account may read a study if it may read all its batches and campaigns."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet
from django.shortcuts import get_object_or_404

from analysis.models import Study, StudyPart
from annotation.models import User
from annotation.people.membership import manageable, readable
from datasets.access import visible_batches
from datasets.models import Batch


def readable_studies(user: User) -> QuerySet[Study]:
    """Return the studies that an account may read, by name.

    Only admins may read one without parts.
    """
    parts = StudyPart.objects.filter(study=OuterRef("pk"))
    hidden = parts.filter(kind="campaign").exclude(campaign__in=readable(user).values("pk"))
    unseen = parts.filter(kind="batch").exclude(batch__in=visible_batches(user).values("pk"))
    rows = Study.objects.filter(~Exists(hidden), ~Exists(unseen))
    if user.role != User.Role.ADMIN:
        rows = rows.filter(Exists(parts.exclude(kind="judge")))
    return rows.order_by("name")


def readable_study(user: User, pk: int) -> Study:
    """Return a study that the account may read. Raises Http404 for any other."""
    return get_object_or_404(readable_studies(user), pk=pk)


def manages_study(user: User, study: Study) -> bool:
    """Return whether an account manages all campaigns of a study."""
    campaigns = set(study.parts.filter(kind="campaign").values_list("campaign", flat=True))
    theirs = manageable(user).filter(pk__in=campaigns)
    return bool(campaigns) and theirs.count() == len(campaigns)


def readable_root(user: User, pk: int) -> Batch:
    """Return the first batch of a chain, as far back as the account may read.

    Raises Http404 for a batch that it may not read.
    """
    visible = visible_batches(user)
    batch = get_object_or_404(visible, pk=pk)
    while source := visible.filter(derived__batch=batch).first():
        batch = source
    return batch


def chains_by_hand(user: User) -> list[Batch]:
    """Return the loaded batches of chains without a study file, newest first."""
    visible = visible_batches(user)
    in_a_study = StudyPart.objects.filter(batch=OuterRef("pk"))
    roots = visible.filter(derived__isnull=False, lineage=None).exclude(Exists(in_a_study))
    return list(roots.distinct().order_by("-pk"))
