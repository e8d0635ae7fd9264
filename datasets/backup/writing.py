"""Write a backup: the database, the files of the data folder, and the manifest."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils.crypto import salted_hmac

from datasets.atomic_files import scratch_folder, sync_folder
from datasets.backup import contents, databases
from datasets.backup.archive import DATABASES as NAMES
from datasets.backup.archive import BackupError, Manifest, Writer, is_member_name, note_backup

ROOM = 50 * 1024 * 1024


def back_up(target: Path) -> tuple[Path, Manifest]:
    """Back the site up while people save; return the archive's path and its manifest.

    In a folder the archive gets a name with the moment. It appears whole or not at all, and only
    its owner can read it. Raises BackupError, OSError and Django's errors.
    """
    if target.is_dir():
        target /= f"tandem-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.zip"
    if not target.parent.is_dir():
        raise BackupError(f"There is no folder {target.parent}; create it")
    _check_room(target.parent)
    with scratch_folder(target) as scratch:
        scratch.chmod(0o700)
        new = scratch / "archive"
        writer = Writer(new)
        try:
            manifest = _write(writer, scratch)
        finally:
            writer.close()
        size = new.stat().st_size
        new.replace(target)
        sync_folder(target.parent)
    note_backup(datetime.fromisoformat(manifest.at), target.resolve(), size)
    return target, manifest


def _write(writer: Writer, scratch: Path) -> Manifest:
    copied = scratch / "database"
    # First the database: a file that is newer than its row does no harm.
    facts = databases.copy(copied)
    is_packed = connection.vendor == "postgresql"
    with copied.open("rb") as file:
        writer.add(NAMES[connection.vendor], file, packed=is_packed)
    copied.unlink()
    folder = contents.data_folder()
    left_out = contents.unknown_entries(folder, databases.name())
    for name, path in contents.files(folder):
        if not is_member_name(name):
            left_out.append(name.removeprefix(contents.FOLDER))
            continue
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue  # loaded or cancelled meanwhile
        with file:
            writer.add(name, file)
    manifest = Manifest(
        version=settings.TANDEM_VERSION,
        commit=settings.TANDEM_COMMIT,
        engine=connection.vendor,
        at=facts.at.isoformat(timespec="seconds"),
        migrations=facts.migrations,
        tables=facts.tables,
        members=writer.members,
        key=fingerprint(settings.SECRET_KEY),
        left_out=left_out,
    )
    writer.finish(manifest)
    return manifest


def fingerprint(key: str) -> str:
    """Return a digest that tells whether two sites have the same SECRET_KEY."""
    return salted_hmac("tandem.backup", "key", secret=key, algorithm="sha256").hexdigest()[:16]


def _check_room(folder: Path) -> None:
    """Check that copy and archive have room. Raises BackupError."""
    files = sum(_size(path) for _, path in contents.files(contents.data_folder()))
    needed, free = 2 * databases.size() + files + ROOM, shutil.disk_usage(folder).free
    if free < needed:
        raise BackupError(
            f"{folder} has {free // 2**20} MB free, and a backup needs up to "
            f"{needed // 2**20} MB while it is written; choose another folder, or make room"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
