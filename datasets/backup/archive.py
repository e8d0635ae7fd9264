"""The archive of a backup, with its checksums, and the moment of the last one.

An archive may have been damaged, or made by somebody else. So every name, type and size is checked
against the manifest, and every checksum too, before a single byte is written anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from datasets.atomic_files import new_file
from datasets.backup.contents import FOLDER, KEPT, data_folder

MANIFEST = "manifest.json"
FORMAT = 1
CHUNK = 1024 * 1024
SYNC_BYTES = 32 * CHUNK
LONGEST_MANIFEST = 16 * CHUNK
MOST_MEMBERS = 100_000
# Deflate packs at most 1,032 bytes into one. More means that members share their bytes.
MOST_RATIO = 1100
DATABASES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}
"""The name of the database in an archive, by its kind."""
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
_DIGEST = re.compile("[0-9a-f]{64}")


class BackupError(Exception):
    """Why a backup or a restore was refused or failed, with the mend, in one sentence."""


@dataclass(frozen=True)
class Manifest:
    """What an archive says about itself.

    `tables` has the number of rows of each table, `members` size and SHA-256 of each file,
    `key` a digest of SECRET_KEY, and `left_out` entries of the data folder that are not Tandem's.
    """

    version: str
    commit: str | None
    engine: str
    at: str
    migrations: list[str]
    tables: dict[str, int]
    members: dict[str, tuple[int, str]]
    key: str
    left_out: list[str]

    @property
    def database(self) -> str:
        return DATABASES[self.engine]

    @property
    def rows(self) -> int:
        return sum(self.tables.values())

    def as_json(self) -> dict[str, Any]:
        members = {name: {"bytes": n, "sha256": sha} for name, (n, sha) in self.members.items()}
        return {"format": FORMAT, **self.__dict__, "members": members}


class Writer:
    """Writes members into a new archive, and keeps their sizes and checksums."""

    def __init__(self, path: Path) -> None:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(opened, "wb")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self.members: dict[str, tuple[int, str]] = {}

    def add(self, name: str, source: IO[bytes], packed: bool = False) -> None:
        """Add a file, whose bytes are stored as they are if they are `packed` already."""
        digest, count, synced = hashlib.sha256(), 0, 0
        with self._zip.open(_info(name, packed), "w", force_zip64=True) as member:
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                member.write(chunk)
                count += len(chunk)
                if count - synced >= SYNC_BYTES:
                    # One sync of the whole archive would hold up the commits of saves.
                    synced = count
                    self._file.flush()
                    os.fdatasync(self._file.fileno())
        self.members[name] = (count, digest.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, and wait for the disk."""
        text = json.dumps(manifest.as_json(), ensure_ascii=False, indent=1)
        self._zip.writestr(_info(MANIFEST), text)
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        """Let go of an unfinished archive."""
        with suppress(OSError, ValueError):
            self._zip.close()
        with suppress(OSError):
            self._file.close()


def _info(name: str, packed: bool = False) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


class Archive:
    """An opened archive whose names, types and sizes are those of its manifest."""

    def __init__(self, opened: zipfile.ZipFile, manifest: Manifest) -> None:
        self._zip, self.manifest = opened, manifest

    def check(self) -> None:
        """Compare every member with its checksum. Raises BackupError."""
        for name in self.manifest.members:
            for _ in self._chunks(name):
                pass

    def extract(self, name: str, to: Path) -> None:
        """Write a member to a new private file, compared once more. Raises OSError, BackupError."""
        to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "wb") as file:
            for chunk in self._chunks(name):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())

    def _chunks(self, name: str) -> Iterator[bytes]:
        size, expected = self.manifest.members[name]
        digest, count = hashlib.sha256(), 0
        try:
            with self._zip.open(name) as member:
                while chunk := member.read(CHUNK):
                    digest.update(chunk)
                    if (count := count + len(chunk)) > size:
                        break
                    yield chunk
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
            raise _damaged(f"{name} cannot be read") from error
        except Exception as error:
            # zlib.error derives from Exception alone.
            if type(error).__module__ != "zlib":
                raise
            raise _damaged(f"{name} cannot be read") from error
        if count != size or digest.hexdigest() != expected:
            raise _damaged(f"{name} differs from its checksum")


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive and check everything but its checksums. Raises BackupError."""
    try:
        found = zipfile.ZipFile(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be read ({error.strerror}); correct the path") from error
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise BackupError(f"{path} is no backup of Tandem, or damaged; take another one") from error
    with found:
        infos = {info.filename: info for info in found.infolist()}
        if len(infos) != len(found.infolist()):
            raise _damaged("a name occurs twice")
        if len(infos) > MOST_MEMBERS:
            raise _damaged(f"it has more than {MOST_MEMBERS} members")
        for info in infos.values():
            _check_type(info)
        manifest = _manifest(found, infos)
        _check_members(manifest, infos, path.stat().st_size)
        yield Archive(found, manifest)


def _damaged(what: str) -> BackupError:
    return BackupError(f"The archive is damaged, or was not made by Tandem: {what}; take another")


def _check_type(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.is_dir() or kind not in (0, stat.S_IFREG):
        raise _damaged(f"{info.filename!r} is no regular file")
    if info.flag_bits & 0x1:
        raise _damaged(f"{info.filename!r} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _damaged(f"{info.filename!r} is packed in another way")
    if info.filename != MANIFEST and not is_member_name(info.filename):
        raise _damaged(f"{info.filename!r} is no file of a backup")


def is_member_name(name: str) -> bool:
    """Return whether a backup may contain a file of this name, which stays below its folder."""
    if name in DATABASES.values():
        return True
    parts = name.removeprefix(FOLDER).split("/")
    below = name.startswith(FOLDER) and parts[0] in KEPT and len(parts) <= 8
    return below and all(_NAME.fullmatch(part) for part in parts)


def _manifest(found: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> Manifest:
    if MANIFEST not in infos:
        raise BackupError("The archive has no manifest.json, so it is no backup of Tandem")
    try:
        with found.open(MANIFEST) as file:
            text = file.read(LONGEST_MANIFEST + 1)
        if len(text) > LONGEST_MANIFEST:
            raise _damaged("its manifest is too long")
        read = json.loads(text)
    except BackupError:
        raise
    except Exception as error:  # zlib, zipfile, JSON and Unicode each have their own
        raise _damaged("its manifest cannot be read") from error
    return _as_manifest(read)


def _as_manifest(read: Any) -> Manifest:
    if not isinstance(read, dict):
        raise _damaged("its manifest is no JSON object")
    if read.get("format") != FORMAT:
        raise BackupError(
            f"The archive has format {read.get('format')!r}, and this version reads {FORMAT}; "
            f"restore it with Tandem {read.get('version')!r}"
        )
    try:
        members = {
            str(name): (_count(each["bytes"]), _digest(each["sha256"]))
            for name, each in read["members"].items()
        }
        manifest = Manifest(
            version=str(read["version"])[:40],
            commit=str(read["commit"])[:80] if read["commit"] else None,
            engine=str(read["engine"]),
            at=datetime.fromisoformat(read["at"]).isoformat(),
            migrations=[str(name) for name in read["migrations"]],
            tables={str(name): _count(rows) for name, rows in read["tables"].items()},
            members=members,
            key=str(read["key"]),
            left_out=[str(name) for name in read["left_out"]],
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _damaged("its manifest lacks a key, or has an unusable value") from error
    if manifest.engine not in DATABASES:
        raise _damaged("its manifest names an unknown database")
    return manifest


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("no count")
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise ValueError("no digest")
    return value


def _check_members(
    manifest: Manifest, infos: Mapping[str, zipfile.ZipInfo], archive_bytes: int
) -> None:
    if {*manifest.members, MANIFEST} != set(infos):
        odd = sorted({*manifest.members, MANIFEST} ^ set(infos))
        raise _damaged(f"{odd[0]!r} is not both in the archive and in its manifest")
    if manifest.database not in infos or len(set(DATABASES.values()) & set(infos)) != 1:
        raise _damaged("it does not have one database")
    for name, (size, _) in manifest.members.items():
        if infos[name].file_size != size:
            raise _damaged(f"{name} has another size than its manifest says")
    if sum(size for size, _ in manifest.members.values()) > MOST_RATIO * archive_bytes:
        raise _damaged("its files would be larger than they can be")


@dataclass(frozen=True)
class LastBackup:
    """When a backup was taken, its file and bytes; when a restore of one was last tested."""

    at: str = ""
    file: str = ""
    bytes: int = 0
    tested_at: str = ""


def _path() -> Path:
    return data_folder() / "last_backup.json"


def last_backup() -> LastBackup:
    """Return what is remembered; without a moment if there was no backup."""
    try:
        stored = json.loads(_path().read_text("utf-8"))
        found = LastBackup(
            **{name: stored[name] for name in asdict(LastBackup()) if name in stored}
        )
        for moment in filter(None, (found.at, found.tested_at)):
            datetime.fromisoformat(moment)
    except (OSError, ValueError, TypeError):
        return LastBackup()
    return found


def note_backup(at: datetime, file: Path, size: int) -> None:
    """Remember a backup. Raises OSError."""
    _write(replace(last_backup(), at=at.isoformat(timespec="seconds"), file=str(file), bytes=size))


def note_test() -> None:
    """Remember that a restore was tested now. Raises OSError."""
    _write(replace(last_backup(), tested_at=datetime.now(UTC).isoformat(timespec="seconds")))


def _write(last: LastBackup) -> None:
    with new_file(_path()) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps(asdict(last)).encode())
