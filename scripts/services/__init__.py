"""A private PostgreSQL and Valkey server, without installing a service.

`python -m scripts.services run -- COMMAND…` starts both on free ports of the loopback address, runs
the command with DATABASE_URL and CELERY_BROKER_URL pointing at them, and stops them again. With
`--keep FOLDER` their data are kept there. The programs are the machine's if it has them, and
otherwise those of two packages in requirements-dev.txt.
"""

from scripts.services.postgres_server import Postgres, postgres
from scripts.services.valkey_server import Valkey, valkey

__all__ = ["Postgres", "Valkey", "postgres", "valkey"]
