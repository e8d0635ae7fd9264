"""Shared parts of commands: finding a campaign, writing files, arguments for settings."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError, OutputWrapper

from annotation.campaigns.design import DesignError
from annotation.campaigns.sampling import summary
from annotation.campaigns.settings import SETTINGS, CampaignSettings
from annotation.models import Campaign, Rater, User
from datasets.access import READERS
from datasets.atomic_files import new_file, new_folder
from datasets.console import row_called, unknown_name_error
from tandem.verbs import verb_of


def campaign_called(name: str) -> Campaign:
    remedy = f"create it with {verb_of('create_campaign')}"
    return row_called(Campaign.objects.select_related("batch"), name, "campaign", remedy)


def describe_sample(campaign: Campaign) -> str:
    """Say how many queries were sampled for people, and how to list them. Empty for all queries."""
    sizes = summary(campaign)
    if sizes["queries_drawn"] == sizes["queries"]:
        return ""
    how = f"{verb_of('draws')} --campaign {shlex.quote(campaign.name)} --queries"
    return (
        f"People are asked about {sizes['queries_drawn']} of {sizes['queries']} queries; "
        f"{how} lists them."
    )


def any_account_called(name: str, remedy: str, **of: Any) -> User:
    """Return an account, restricted by `of`. `remedy` is the advice if no name is similar."""
    user = User.objects.filter(username=name, **of).first()
    if user is None:
        known = User.objects.filter(is_guest=False).values_list("username", flat=True)
        raise unknown_name_error("account", name, known, remedy)
    return user


def rater_called(name: str, what: str, remedy: str, **of: Any) -> Rater:
    """Return a rater, restricted by `of`. `what` is the word for it."""
    return row_called(Rater.objects.filter(**of), name, what, remedy)


def account_called(name: str) -> User:
    """Return a researcher's or administrator's account."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None or user.role not in READERS:
        raise CommandError(
            f"{name!r} is not a researcher's account; create one with create_account."
        )
    return user


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write a text file completely or not at all. Raises CommandError if it cannot be written."""

    def write(file: BinaryIO) -> None:
        file.writelines(line.encode("utf-8") for line in lines)

    write_file(path, write)


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file with `write`, completely or not at all.

    The new file is written under another name and then moved. A link's target is written, not the
    link. A device or a pipe is written directly. Raises CommandError if the file cannot be written.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as file:
                write(file)
        else:
            with new_file(target) as file:
                write(file)
    except BrokenPipeError:
        pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written ({why}); choose another file.") from error


def write_folder(path: Path, files: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Write a new folder of files, each given as path and pieces, completely or not at all.

    Unfinished folders that a killed writer left beside it are removed. Raises CommandError if the
    folder cannot be written, or exists and is not empty.
    """
    target = path.resolve()
    try:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise CommandError(f"{path}: exists already; choose another folder.")
        with new_folder(target) as beside:
            for name, pieces in files:
                place = beside / name
                place.parent.mkdir(parents=True, exist_ok=True)
                write_file(place, _filling(pieces))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written ({why}); choose another folder.") from error


def _filling(pieces: Iterable[bytes]) -> Callable[[BinaryIO], object]:
    return lambda file: file.writelines(pieces)


def write_or_print(out: OutputWrapper, path: Path | None, lines: Iterable[str]) -> None:
    """Write lines to a file, or print them if none is named."""
    if path:
        write_whole(path, lines)
    else:
        print_lines(out, lines)


def print_bytes(out: OutputWrapper, pieces: Iterable[bytes]) -> None:
    """Print text given as pieces of bytes, none of which ends within a character."""
    print_lines(out, (piece.decode("utf-8") for piece in pieces))


def print_lines(out: OutputWrapper, lines: Iterable[str]) -> None:
    """Print lines to a command's standard output, until its reader stops."""
    try:
        for line in lines:
            out.write(line, ending="")
        out.flush()
    except BrokenPipeError:
        # Otherwise Python would report the error again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def add_removals(parser: ArgumentParser) -> None:
    """Add the options that remove settings."""
    for setting in SETTINGS:
        if setting.removal:
            flag = f"--no-{setting.name.replace('_', '-')}"
            parser.add_argument(flag, action="store_true", help=setting.removal)


def read_settings(options: Mapping[str, Any], reads_files: bool = True) -> CampaignSettings:
    """Read settings from a command's options.

    `reads_files` is False where files may be missing. Raises DesignError, whose field is an option,
    or CommandError for a bad file.
    """
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        option = setting.option
        given = options.get(option.command)
        if given in (None, []) or (option.lines and not reads_files):
            continue
        try:
            found[setting.name] = setting.read_value(_text(given) if option.lines else given)
        except DesignError as error:
            if option.lines:
                raise CommandError(f"{given}: {error}.") from error
            raise DesignError(str(error), option.command) from error
    removed = tuple(each.name for each in SETTINGS if options.get(f"no_{each.name}"))
    return CampaignSettings(**found, removed=removed)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be read ({why}); name another file.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: is not UTF-8; save it as UTF-8.") from error
