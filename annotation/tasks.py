"""Background tasks of campaigns."""

from __future__ import annotations

from celery import shared_task

from annotation.audit_log import count_answers
from audit.seals import seal


@shared_task
def seal_audit() -> None:
    count_answers()
    seal()
