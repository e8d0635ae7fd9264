"""One site for each data folder: its web server, workers and beat share a database.

Each of these processes holds locks on the file `site.lock` for as long as it runs. The system
releases them however the process ends, and a fork does not inherit them, so a file that is left
behind locks nobody out. All hold a shared lock: who finds the folder unused notes the database, and
who comes later must have the same. A site on SQLite has one web server, which holds a second lock;
on PostgreSQL several may share the work. Needs no Django.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

FILE = "site.lock"
DATABASE, SERVER = 0, 1
"""The two locks, each on a byte of the file."""
INHERITED = "TANDEM_SITE_LOCK"
"""The variable that names the descriptor to a web server that starts again as the same process."""
TRIES, PAUSE = 40, 0.05


class SiteInUseError(Exception):
    """Another site uses the data folder."""


def join(folder: Path, database: Mapping[str, Any]) -> int:
    """Enter the folder as a process of the site with this database, as Django's settings name it.

    Returns the descriptor that holds the lock; closing it, or any other descriptor of the file,
    leaves the folder. Raises SiteInUseError.
    """
    lock = _opened(folder)
    try:
        _join(lock, folder, identity(database))
    except SiteInUseError:
        os.close(lock)
        raise
    return lock


def join_as_server(folder: Path, database: Mapping[str, Any], address: str) -> int:
    """Enter the folder as its web server at `address`. Raises SiteInUseError."""
    lock = _opened(folder)
    try:
        _take_place_of_server(lock, folder, database)
        _join(lock, folder, identity(database))
    except SiteInUseError:
        os.close(lock)
        raise
    server = {"pid": os.getpid(), "host": socket.gethostname(), "address": address}
    _write(lock, _read(lock) | {"server": server})
    return lock


def refuse_second_server(folder: Path, database: Mapping[str, Any]) -> None:
    """Raise SiteInUseError if this process could not be the folder's web server."""
    lock = _opened(folder)
    try:
        _take_place_of_server(lock, folder, database)
    finally:
        os.close(lock)


@cache
def _watched(folder: Path) -> int:
    """Return a descriptor that stays open, since closing it would release this process's locks."""
    return os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)


def has_server(folder: Path) -> bool:
    """Return whether another process of this machine is the folder's web server, or may be.

    Only Linux can tell without taking the lock, which could keep a server from starting.
    """
    if sys.platform != "linux":
        return True
    # The struct `flock`: kind, from where, begin, length, process.
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, SERVER, 1, 0)
    try:
        found = fcntl.fcntl(_watched(folder), fcntl.F_GETLK, asked)
    except OSError:
        return True
    return bool(struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK)


def identity(database: Mapping[str, Any]) -> str:
    """Return what tells a database from all others, or nothing if it is away.

    On PostgreSQL it is the cluster's and the database's own numbers, since a pooler has another
    address than the server behind it.
    """
    if _is_file(database):
        return f"sqlite:{Path(str(database['NAME'])).resolve()}"
    import psycopg

    names = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER",
             "password": "PASSWORD"}  # fmt: skip
    given = {name: database[key] for name, key in names.items() if database.get(key)}
    statement = (
        "SELECT system_identifier, oid FROM pg_control_system(), pg_database"
        " WHERE datname = current_database()"
    )
    try:
        with psycopg.connect(**given, connect_timeout=3) as connection:
            found = connection.execute(statement).fetchone()
    except psycopg.Error:
        return ""
    return f"postgresql:{found[0]}:{found[1]}" if found else ""


def pass_on(lock: int) -> dict[str, str]:
    """Keep the lock when this process executes itself again; return the variable that says so."""
    os.set_inheritable(lock, True)
    return {INHERITED: str(lock)}


def _opened(folder: Path) -> int:
    if inherited := os.environ.pop(INHERITED, ""):
        os.set_inheritable(int(inherited), False)
        return int(inherited)
    return os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)


def _join(lock: int, folder: Path, database: str) -> None:
    for _ in range(TRIES):
        if _lock(lock, fcntl.LOCK_EX, DATABASE):
            _write(lock, {"database": database})
            _lock(lock, fcntl.LOCK_SH, DATABASE)
            return
        if _lock(lock, fcntl.LOCK_SH, DATABASE):
            other = _read(lock).get("database")
            if database and other and database != other:
                raise SiteInUseError(
                    f"{folder} is in use by a site with another database{_who(lock)}; set "
                    "DATABASE_URL to that one, or TANDEM_DATA_DIR to another folder"
                )
            return
        # Another process is just noting its database.
        time.sleep(PAUSE)
    raise SiteInUseError(f"{folder / FILE} is locked by another program")


def _take_place_of_server(lock: int, folder: Path, database: Mapping[str, Any]) -> None:
    kind = fcntl.LOCK_EX if _is_file(database) else fcntl.LOCK_SH
    if not _lock(lock, kind, SERVER):
        raise SiteInUseError(
            f"{folder} is in use by another web server{_who(lock)}; stop that one first, or set "
            "TANDEM_DATA_DIR to another folder"
        )


def _who(lock: int) -> str:
    server = _read(lock).get("server")
    if not server:
        return ""
    return f" (at {server['address']}, process {server['pid']} on {server['host']})"


def _lock(lock: int, kind: int, byte: int) -> bool:
    """Return whether the lock was free. Some network drives have no locks; then it always is."""
    try:
        fcntl.lockf(lock, kind | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _read(lock: int) -> dict[str, Any]:
    with suppress(ValueError):
        found = json.loads(os.pread(lock, os.fstat(lock).st_size, 0))
        if isinstance(found, dict):
            return found
    return {}


def _write(lock: int, record: Mapping[str, Any]) -> None:
    text = json.dumps(record).encode()
    os.pwrite(lock, text, 0)
    os.ftruncate(lock, len(text))


def _is_file(database: Mapping[str, Any]) -> bool:
    return "sqlite" in str(database["ENGINE"])
