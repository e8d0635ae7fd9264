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
from annotation.campaigns.settings import GUIDELINES_SHOWN, CampaignSettings, read_deadline
from annotation.models import Campaign, Rater, User
from annotation.people.background import BackgroundError, Question, read_toml
from annotation.people.pay import PayError, read_rate
from annotation.people.shares import ShareError, read_shares
from datasets.access import READERS
from datasets.atomic_files import new_file, new_folder
from datasets.console import unknown_name_error
from datasets.models import Batch
from tandem.verbs import verb_of


def campaign_called(name: str) -> Campaign:
    campaign = Campaign.objects.select_related("batch").filter(name=name).first()
    if campaign is None:
        known = Campaign.objects.values_list("name", flat=True)
        raise unknown_name_error(
            "campaign", name, known, f"create it with {verb_of('create_campaign')}"
        )
    return campaign


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


def batch_called(name: str) -> Batch:
    batch = Batch.objects.filter(name=name).first()
    if batch is None:
        known = Batch.objects.values_list("name", flat=True)
        raise unknown_name_error("batch", name, known, f"load it with {verb_of('load_batch')}")
    return batch


def any_account_called(name: str, remedy: str, **of: Any) -> User:
    """Return an account, restricted by `of`. `remedy` is the advice if no name is similar."""
    user = User.objects.filter(username=name, **of).first()
    if user is None:
        known = User.objects.filter(is_guest=False).values_list("username", flat=True)
        raise unknown_name_error("account", name, known, remedy)
    return user


def rater_called(name: str, what: str, remedy: str, **of: Any) -> Rater:
    """Return a rater, restricted by `of`. `what` is the word for it."""
    raters = Rater.objects.filter(**of)
    rater = raters.filter(name=name).first()
    if rater is None:
        raise unknown_name_error(what, name, raters.values_list("name", flat=True), remedy)
    return rater


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
            _replace(target, write)
    except BrokenPipeError:
        pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written ({why}); choose another file.") from error


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    with new_file(path) as file:
        write(file)


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


def add_settings_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--deadline",
        metavar="MOMENT",
        help="answers after this time do not count; a day such as 2026-12-31 counts until its end",
    )
    parser.add_argument(
        "--language", metavar="TAG", help="the language of the texts, such as en or pt-BR"
    )
    parser.add_argument(
        "--text-view",
        choices=("source", "rendered"),
        help="how texts in Markdown are first shown: as written (source), or rendered",
    )
    parser.add_argument(
        "--guideline",
        type=Path,
        metavar="F",
        help="a Markdown file as guideline; an empty file restores the protocol's",
    )
    parser.add_argument(
        "--gold-every",
        type=int,
        metavar="N",
        help="one gold item in each N items of a person, at a random position; 0 for none",
    )
    parser.add_argument(
        "--practice-of",
        metavar="CAMPAIGN",
        help="another campaign whose practice people do first; not needed for the campaign's own",
    )
    parser.add_argument(
        "--qualify",
        type=float,
        metavar="SHARE",
        help="the pass mark: the share of gold answers that must be correct in practice",
    )
    parser.add_argument(
        "--guideline-shown",
        choices=GUIDELINES_SHOWN,
        help="what to show of the protocol's guideline: asked (the default of new campaigns), "
        "only the parts about the variables that the campaign asks; or whole",
    )
    _add_people_arguments(parser)


def _add_people_arguments(parser: ArgumentParser) -> None:
    """Add the options for consent, background questions, pay and shares."""
    parser.add_argument(
        "--consent",
        type=Path,
        metavar="F",
        help="a Markdown file that people agree to before their first item; an empty file ends it",
    )
    parser.add_argument(
        "--revoked",
        choices=Campaign.Revoked.values,
        help="what happens to the answers of a person who revokes their consent: keep (the "
        "default) or delete; reports and exports leave them out in either case",
    )
    parser.add_argument(
        "--background",
        type=Path,
        metavar="F",
        help="a TOML file of questions that people answer once, before their first item; an empty "
        "file removes them",
    )
    parser.add_argument(
        "--pay",
        metavar="RATE",
        help="what people get, such as `0.35 EUR per item`, `14 EUR per hour` or `20 EUR per "
        "person`; empty for none",
    )
    parser.add_argument(
        "--share",
        action="append",
        default=[],
        metavar="NAME=SHARE",
        help="the fixed share of all answers that this account gives, such as ada=0.25; give it "
        "once for each person; the rest is for everybody else",
    )


def read_settings(options: Mapping[str, Any]) -> CampaignSettings:
    """Read settings from options. Raises DesignError, or CommandError for a bad guideline file."""
    deadline = options.get("deadline")
    return CampaignSettings(
        deadline=read_deadline(deadline) if deadline else None,
        language=options.get("language"),
        text_view=options.get("text_view"),
        guideline=_text(options.get("guideline")),
        gold_every=options.get("gold_every"),
        practice_of=options.get("practice_of"),
        qualify=options.get("qualify"),
        consent=_text(options.get("consent")),
        revoked=options.get("revoked"),
        background=_questions(options.get("background")),
        pay=read_given_rate(options),
        shares=read_given_shares(options),
        guideline_shown=options.get("guideline_shown"),
        no_deadline=bool(options.get("no_deadline")),
        no_qualify=bool(options.get("no_qualify")),
    )


def read_given_shares(options: Mapping[str, Any]) -> dict[str, float] | None:
    """Read shares from options; None if there are none. Raises DesignError."""
    try:
        if options.get("share"):
            return read_shares(options["share"])
    except ShareError as error:
        raise DesignError(str(error), "share") from error
    return {} if options.get("no_shares") else None


def read_given_rate(options: Mapping[str, Any]) -> str | None:
    """Read the pay from options; None if there is none. Raises DesignError."""
    pay: str | None = options.get("pay")
    try:
        return None if pay is None else str(read_rate(pay) or "")
    except PayError as error:
        raise DesignError(str(error), "pay") from error


def _questions(path: Path | None) -> tuple[Question, ...] | None:
    text = _text(path)
    try:
        return None if text is None else read_toml(text)
    except BackgroundError as error:
        raise CommandError(f"{path}: {error}.") from error


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text("utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be read ({why}); name another file.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: is not UTF-8; save it as UTF-8.") from error
