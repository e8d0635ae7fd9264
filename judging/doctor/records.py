"""Checks of what should have happened: the last seal and the last backup."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from audit.models import SITE, Event, Seal
from datasets.backup import last_backup
from judging.doctor.base import Finding, must_mend, warning, well

SEAL_LATE = timedelta(hours=1)
BACKUP_LATE, BACKUP_TOO_LATE = timedelta(hours=36), timedelta(days=7)
TEST_LATE = timedelta(days=30)
BACK_UP = "Run tandem backup FILE each night (see Back up and restore)"


def check_seal() -> Finding:
    """Say when the audit trail was last sealed, and whether events have waited for long."""
    last = Seal.objects.filter(chain=SITE).order_by("-number").first()
    unsealed = Event.objects.filter(pk__gt=last.last if last else 0).order_by("pk")
    waiting = unsealed.values_list("at", flat=True).first()
    sealed = f"sealed {_moment(last.at)}" if last else "never sealed"
    if waiting is None:
        return well(sealed if last else "no event to seal yet")
    if last is not None and timezone.now() - waiting < SEAL_LATE:
        return well(sealed)
    return must_mend(
        f"{sealed}; events have waited since {_moment(waiting)}",
        "Run tandem audit seal, and see that a worker or beat runs, which seals by itself",
    )


def check_backup() -> Iterator[Finding]:
    """Say when the last backup was taken, and when its restore was last tested."""
    last = last_backup()
    if not last.at:
        yield must_mend("no backup was ever taken", BACK_UP)
        return
    at = datetime.fromisoformat(last.at)
    age = timezone.now() - at
    says = f"taken {_moment(at)} to {last.file}"
    if age > BACKUP_TOO_LATE:
        yield must_mend(says, BACK_UP)
    elif age > BACKUP_LATE:
        yield warning(says, BACK_UP)
    else:
        yield well(says)
    tested = datetime.fromisoformat(last.tested_at) if last.tested_at else None
    if tested is None or timezone.now() - tested > TEST_LATE:
        when = f"last tested {_moment(tested)}" if tested else "never tested"
        yield warning(f"restoring is {when}", f"Run tandem restore --test {last.file}")


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
