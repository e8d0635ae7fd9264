"""A PostgreSQL and a Valkey server of one's own, without installing a service.

`python -m scripts.services run -- COMMAND…` starts both on free ports of the loopback address, runs
the command with DATABASE_URL and CELERY_BROKER_URL pointing at them, and stops them again; with
`--keep FOLDER` their data stay there for the next time. The servers are the machine's where it has
them, and those of two packages of requirements-dev.txt otherwise.
"""

from scripts.services.postgres_server import Postgres, postgres
from scripts.services.valkey_server import Valkey, valkey

__all__ = ["Postgres", "Valkey", "postgres", "valkey"]
