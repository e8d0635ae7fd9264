"""Whether a server may start: not on the database of a newer version, nor beside another site."""

from __future__ import annotations

import sys

from django.conf import settings

from datasets import site_lock


def end_on_newer_database() -> None:
    """End this process with a line on such a database. Leaves no connection for forks to share.

    Call this once Django is set up. A database that is away is reported later.
    """
    # Models can be imported only then.
    from datasets.db.versions import NewerDatabaseError, refuse_newer_database
    from datasets.work.worker import disconnect

    try:
        refuse_newer_database()
    except NewerDatabaseError as error:
        sys.exit(f"Not started: {error}")
    finally:
        disconnect()


def join_site() -> None:
    """Enter the data folder until this process ends, or end it with a line if that is refused."""
    try:
        site_lock.join(settings.DATA_DIR, settings.DATABASES["default"])
    except site_lock.SiteInUseError as error:
        sys.exit(f"Not started: {error}")
