"""Settings, addresses and the Celery application. Imported by nothing but Django and Celery."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
