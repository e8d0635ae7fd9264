"""What workers do for batches. A message only says what may be due; what is due stands in the row.

So a message that comes late or twice does no harm: the row's turn is taken, or nothing waits.
"""

from __future__ import annotations

from celery import shared_task

from datasets.api.once import forget_old
from datasets.uploads.apart import run_apart
from datasets.uploads.cleaning import clean


@shared_task
def work_on_upload(key: str) -> None:
    run_apart(key)


@shared_task
def clean_uploads() -> None:
    clean()
    forget_old()
