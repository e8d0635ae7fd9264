"""Settings, URLs and the Celery application. Only Django and Celery import these."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
