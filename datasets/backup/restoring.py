"""Restore a backup into an empty place, whole or not at all, and rehearse it in a scratch place.

Everything is checked and written to scratch folders first. Then files are moved into place, and the
database last, in one step: until then the site is still empty. If the process is killed in between,
the scratch folder is left. The next restore finds it, and removes what the first one had moved.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader

from datasets.atomic_files import abandoned, scratch_folder, sync_folder
from datasets.backup import contents, databases
from datasets.backup.archive import Archive, BackupError, Manifest, note_test, opened
from datasets.backup.writing import ROOM, fingerprint
from datasets.db.versions import unknown_migrations
from datasets.priority import environment_of_child

KEY = "secret_key"


def restore(path: Path) -> tuple[Manifest, list[str]]:
    """Restore an archive; return its manifest and what is left to do.

    Raises BackupError if the archive is damaged, crafted, newer than this code or of another
    database, or if the place is not empty; OSError; and Django's errors.
    """
    with opened(path) as archive:
        _check_version(archive.manifest)
        folder = contents.data_folder()
        _check_place(folder)
        _check_room(archive.manifest, folder)
        archive.check()
        beside = Path(databases.name()) if connection.vendor == "sqlite" else folder / "database"
        # The folder's scratch folder is the mark of a restore that is not finished.
        with scratch_folder(beside) as scratch, scratch_folder(_mark(folder)) as moving:
            for each in (scratch, moving):
                each.chmod(0o700)
            database = databases.prepare(archive, scratch)
            _extract_files(archive, moving)
            is_stored = _stored_key(folder) == settings.SECRET_KEY
            try:
                _move(moving, folder)
                database.put_into_place()
            except BaseException:
                _undo(folder)
                raise
            sync_folder(beside.parent)
        key = _stored_key(folder) if is_stored else settings.SECRET_KEY
        return archive.manifest, _left_to_do(archive.manifest, key)


def _mark(folder: Path) -> Path:
    return folder / "restore"


def _check_version(manifest: Manifest) -> None:
    if manifest.engine != connection.vendor:
        raise BackupError(
            f"The backup is of a {manifest.engine} database, and DATABASE_URL names a "
            f"{connection.vendor} one; set it to an empty {manifest.engine} database"
        )
    applied = [(app, name) for app, _, name in (m.partition(".") for m in manifest.migrations)]
    unknown = unknown_migrations(applied)
    if unknown or _numbers(manifest.version) > _numbers(settings.TANDEM_VERSION):
        why = f" (its migration {unknown[-1]} is unknown here)" if unknown else ""
        commit = f", commit {manifest.commit}" if manifest.commit else ""
        raise BackupError(
            f"The backup is newer than this code{why}: restore it with Tandem "
            f"{manifest.version}{commit} or newer; this is {settings.TANDEM_VERSION}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(p.isdecimal() for p in parts) else ()


def _check_place(folder: Path) -> None:
    """Check that nothing is in the way, after removing what a killed restore left behind."""
    if not databases.is_empty():
        raise BackupError(
            f"The database {databases.name()} has tables; restore into an empty place: set "
            "TANDEM_DATA_DIR to a new folder, and DATABASE_URL to an empty database"
        )
    if abandoned(_mark(folder)):
        _remove_moved(folder)
    if found := contents.in_the_way(folder):
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise BackupError(
            f"The data folder {folder} has {', '.join(found[:3])}{more}; restore into an empty "
            "folder: set TANDEM_DATA_DIR to a new one"
        )


def _undo(folder: Path) -> None:
    """Remove the files of a restore that failed before its last step."""
    with suppress(Error):
        if databases.is_empty():
            _remove_moved(folder)


def _remove_moved(folder: Path) -> None:
    for entry in contents.KEPT:
        _empty(folder / entry, contents.PASSING.get(entry, set()))


def _empty(path: Path, but: set[str]) -> None:
    if path.is_dir() and not path.is_symlink():
        for each in path.iterdir():
            if each.name not in but:
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()


def _check_room(manifest: Manifest, folder: Path) -> None:
    needed = sum(size for size, _ in manifest.members.values()) + ROOM
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BackupError(
            f"{folder} has {free // 2**20} MB free, and the restore needs {needed // 2**20} MB; "
            "choose another folder"
        )


def _extract_files(archive: Archive, to: Path) -> None:
    for name in archive.manifest.members:
        if name.startswith(contents.FOLDER):
            archive.extract(name, to / name.removeprefix(contents.FOLDER))


def _move(moving: Path, folder: Path) -> None:
    """Move what was extracted into the data folder, whose own folders may exist and be empty."""
    for entry in sorted(moving.iterdir()):
        target = folder / entry.name
        if entry.is_dir():
            target.mkdir(mode=0o700, exist_ok=True)
            for each in sorted(entry.iterdir()):
                with suppress(FileNotFoundError):
                    (target / each.name).rmdir()  # an empty folder, which nothing is lost with
                each.replace(target / each.name)
        else:
            entry.replace(target)
        sync_folder(folder)


def _left_to_do(manifest: Manifest, key: str) -> list[str]:
    loader = MigrationLoader(connection)
    pending = set(loader.disk_migrations) - set(loader.applied_migrations)
    to_do = ["run tandem migrate, since the backup is of an older version"] if pending else []
    if fingerprint(key) != manifest.key:
        to_do.append(
            "set SECRET_KEY to that of the site that was backed up, since second factors cannot be "
            "read without it"
        )
    return to_do


def _stored_key(folder: Path) -> str:
    """Return the key that the site stored itself; empty if there is none."""
    with suppress(OSError):
        return (folder / KEY).read_text("utf-8")
    return ""


STEPS = (("restore",), ("migrate", "--verbosity", "0"), ("check_invariants",))


def rehearse(path: Path, say: Callable[[str], object]) -> bool:
    """Restore an archive into a scratch place and check its data; return whether it holds.

    The place is removed again, also one that a killed rehearsal left. Raises BackupError and
    OSError.
    """
    with scratch_folder(contents.data_folder() / "restore-test") as scratch:
        scratch.chmod(0o700)
        with databases.scratch_database(scratch) as url:
            env = _environment(scratch, url)
            connection.close()
            for step in STEPS:
                arguments = [*step, str(path.resolve())] if step[0] == "restore" else list(step)
                done = subprocess.run(
                    [sys.executable, "manage.py", *arguments], cwd=settings.BASE_DIR, env=env,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                )  # fmt: skip
                is_check = step[0] == "check_invariants"
                for line in done.stdout.splitlines() if is_check else ():
                    say(line)
                if done.returncode:
                    why = " ".join(done.stderr.split())[-1000:]
                    if not is_check:
                        raise BackupError(why or f"manage.py {step[0]} failed")
                    say(why)
                    return False
    note_test()
    return True


def _environment(scratch: Path, url: str) -> dict[str, str]:
    kept = environment_of_child("CELERY_BROKER_URL", "TANDEM_STATIC_DIR")
    return kept | {"TANDEM_DATA_DIR": str(scratch), "DATABASE_URL": url}
