"""The base class of every command: progress bar, plain lines, and errors in one line."""

from __future__ import annotations

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn, TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model, QuerySet
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from datasets.access import TeamError, team_named, there_are_several
from datasets.db.versions import NewerDatabaseError, refusing_newer_database
from datasets.models import Batch, Team
from datasets.text import as_sentence
from tandem.files.rows import InputError
from tandem.similar import did_you_mean
from tandem.verbs import verb_of

Tick = Callable[[int], None]
Row = TypeVar("Row", bound=Model)
FAULTS_FOUND = 3
"""The exit status of `tandem` if something differs or work is left; manage.py exits with 1."""


class Command(BaseCommand):
    """A command whose `run` may raise InputError or CommandError: one line, exit status 1."""

    # The checks would import every page of the site, which is slower than most commands.
    requires_system_checks = ()

    accepts_newer_database = False
    """Whether it runs on a database that a newer version of Tandem has migrated."""

    is_quiet = False
    """Whether to omit progress and remarks. Results are always written."""

    def run(self, **options: Any) -> None:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        guard = nullcontext() if self.accepts_newer_database else refusing_newer_database()
        try:
            with guard:
                self.run(**options)
        except (InputError, CommandError, NewerDatabaseError) as error:
            self.refuse(error)
        except (OperationalError, ProgrammingError) as error:
            self.refuse(CommandError(describe_database_error(error)))

    def refuse(self, error: Exception) -> NoReturn:
        if not self.from_command_line:
            status = getattr(error, "returncode", 1)
            raise CommandError(one_line(error), returncode=status) from error
        self.stderr.write(one_line(error))
        sys.exit(1)

    @property
    def from_command_line(self) -> bool:
        return bool(getattr(self, "_called_from_command_line", False))

    def say(self, line: str) -> None:
        if not self.is_quiet:
            self.stdout.write(line)

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Tick]:
        """Yield a function that reports progress: a bar on a terminal, else a line a second."""
        if self.is_quiet:
            yield lambda done: None
        elif sys.stderr.isatty():
            with _bar(what, total) as tick:
                yield tick
        else:
            yield _lines(what, total, self.stderr.write)


def describe_database_error(error: Exception) -> str:
    """Explain why the database cannot be used. Re-raises errors that have another cause."""
    try:
        executor = MigrationExecutor(connection)
        behind = bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except OperationalError:
        return f"The database cannot be reached ({error}); check DATABASE_URL."
    if not behind:
        raise error
    return f"The database is not up to date; run {verb_of('migrate')}."


def unknown_name_error(what: str, name: str, known: Iterable[str], remedy: str) -> CommandError:
    """Return an error for an unknown name, with a similar name or advice."""
    hint = did_you_mean(name, known, f"{remedy}.")
    return CommandError(f"There is no {what} {name!r}; {hint}")


def row_called(rows: QuerySet[Row], name: str, what: str, remedy: str, field: str = "name") -> Row:
    """Return the row of this name, or raise an error that says `what` it is not, with advice."""
    row = rows.filter(**{field: name}).first()
    if row is None:
        raise unknown_name_error(what, name, rows.values_list(field, flat=True), remedy)
    return row


def batch_called(name: str) -> Batch:
    return row_called(Batch.objects.all(), name, "batch", f"load it with {verb_of('load_batch')}")


@contextmanager
def refusing(*errors: type[Exception], about: str = "") -> Iterator[None]:
    """Report errors of the domain as CommandError, after what they are about, or as a sentence."""
    try:
        yield
    except errors as error:
        message = f"{about}: {error}." if about else as_sentence(error)
        raise CommandError(message) from error


def exit_on_signals() -> None:
    """Have a signal that ends the process raise SystemExit, so that it removes unfinished files."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))


def add_team_option(parser: ArgumentParser, what: str = "the team that it belongs to") -> None:
    parser.add_argument("--team", metavar="TEAM", help=f"{what}; needed only if there are several")


def team_option(options: Mapping[str, Any]) -> Team:
    """Return the team that a command names, or the only one. Raises CommandError."""
    with refusing(TeamError):
        return team_named(options.get("team"))


def known_team(options: Mapping[str, Any]) -> Team | None:
    """Return the team as `team_option` does, or None where a team has to be named and is not."""
    return team_option(options) if options.get("team") or not there_are_several() else None


def one_line(error: Exception) -> str:
    """Return a message on one line. A question at its end needs no full stop."""
    line = " ".join(str(error).split())
    return line.removesuffix(".") if line.endswith("?.") else line


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Tick]:
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def _lines(what: str, total: int | None, write: Callable[[str], object]) -> Tick:
    last = time.monotonic()

    def tick(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            write(f"{what}: {done}" + (f" of {total}" if total else ""))

    return tick
