"""Backups: a consistent copy of a running site in one archive, and its return to an empty place.

`archive` writes and checks the archive, `contents` says which files of the data folder belong to
it, `databases` copies and loads SQLite and PostgreSQL, and `writing` and `restoring` put them
together. `restoring` also rehearses in a scratch place, and `archive` remembers the last backup.
"""

from datasets.backup.archive import BackupError, LastBackup, last_backup
from datasets.backup.restoring import rehearse, restore
from datasets.backup.writing import back_up

__all__ = ["BackupError", "LastBackup", "back_up", "last_backup", "rehearse", "restore"]
