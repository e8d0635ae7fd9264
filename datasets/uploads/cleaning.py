"""Deleting uploads that nobody has decided about for a day, and files that belong to none."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from datasets.models import Upload
from datasets.uploads import quarantine

RETENTION = timedelta(hours=24)
INCOMING_SECONDS = 3 * 3600


def clean() -> int:
    """Delete uploads unchanged for a day, and files without one; return the number of uploads.

    Batches of kept uploads stay. A process may not run for a day, so none is interrupted.
    """
    old = Upload.objects.filter(changed_at__lt=timezone.now() - RETENTION)
    keys = list(old.values_list("key", flat=True))
    Upload.objects.filter(key__in=keys).delete()
    for key in keys:
        quarantine.remove(key)
    _delete_leftovers()
    return len(keys)


def _delete_leftovers() -> None:
    found = quarantine.leftovers(INCOMING_SECONDS)
    existing = set(
        Upload.objects.filter(key__in=[p.name for p in found]).values_list("key", flat=True)
    )
    for path in found:
        if path.is_dir() and path.name not in existing:
            quarantine.remove(path.name)
        elif path.is_file():
            path.unlink(missing_ok=True)
