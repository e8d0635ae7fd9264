"""What workers do for batches. A message only says what may be due; what is due stands in the row.

So a message that comes late or twice does no harm: the row's turn is taken, or nothing waits.
"""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from datasets.api.once import LASTS
from datasets.models import KeptAnswer
from datasets.uploads.apart import run_apart
from datasets.uploads.cleaning import clean


@shared_task
def work_on_upload(key: str) -> None:
    run_apart(key)


@shared_task
def clean_uploads() -> None:
    clean()


@shared_task
def forget_answers() -> None:
    """Removes the answers to writes that nobody sends again (`datasets.api.once`)."""
    KeptAnswer.objects.filter(created_at__lt=timezone.now() - LASTS).delete()
