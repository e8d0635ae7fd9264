"""Settings, URLs and the Celery application. Only Django and Celery import these."""

from config.celery import app as celery_app
from tandem.place import set_umask

__all__ = ["celery_app"]

# Every program that writes for the site imports this package first.
set_umask()
