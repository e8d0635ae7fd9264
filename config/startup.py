"""Whether a server may start: not on a database that a newer version of Tandem has migrated."""

from __future__ import annotations

import sys


def end_on_newer_database() -> None:
    """End this process with a line on such a database. Leaves no connection for forks to share.

    Call this once Django is set up. A database that is away is reported later.
    """
    # Models can be imported only then.
    from datasets.db.versions import NewerDatabaseError, refuse_newer_database
    from datasets.jobs.worker import disconnect

    try:
        refuse_newer_database()
    except NewerDatabaseError as error:
        sys.exit(f"Not started: {error}")
    finally:
        disconnect()
