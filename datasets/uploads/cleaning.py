"""What nobody came back for goes, a day later: files first, since they may be large."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from datasets.models import Upload
from datasets.uploads import quarantine

KEPT_FOR = timedelta(hours=24)
ON_THE_WAY_SECONDS = 3 * 3600


def clean() -> int:
    """Removes uploads that nobody touched for a day, and files without one; how many uploads.

    What was kept stays as its batch. A load under way is younger: its process may not be that old.
    """
    old = Upload.objects.filter(changed_at__lt=timezone.now() - KEPT_FOR)
    keys = list(old.values_list("key", flat=True))
    Upload.objects.filter(key__in=keys).delete()
    for key in keys:
        quarantine.remove(key)
    _leftovers()
    return len(keys)


def _leftovers() -> None:
    found = quarantine.leftovers(ON_THE_WAY_SECONDS)
    known = set(
        Upload.objects.filter(key__in=[p.name for p in found]).values_list("key", flat=True)
    )
    for path in found:
        if path.is_dir() and path.name not in known:
            quarantine.remove(path.name)
        elif path.is_file():
            path.unlink(missing_ok=True)
