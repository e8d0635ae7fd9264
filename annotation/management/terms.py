"""The arguments of commands that say what may change while a campaign runs."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.terms import Terms, read_deadline


def add_terms(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--deadline",
        metavar="MOMENT",
        help="no answer counts after it; a day such as 2026-12-31 counts to its end",
    )
    parser.add_argument("--language", metavar="TAG", help="of its texts, such as en or pt-BR")
    parser.add_argument(
        "--guideline",
        type=Path,
        metavar="F",
        help="a Markdown file instead of the protocol's guideline; an empty one takes it back",
    )
    parser.add_argument(
        "--gold-every",
        type=int,
        metavar="N",
        help="one gold item in each N items of a person, at a drawn place; 0 for none",
    )
    parser.add_argument(
        "--practice-of",
        metavar="CAMPAIGN",
        help="whose practice people do first; its own needs no name",
    )
    parser.add_argument(
        "--qualify",
        type=float,
        metavar="SHARE",
        help="the share of known answers that the practice has to get right",
    )


def terms_of(options: Mapping[str, Any]) -> Terms:
    """Raises DesignError, and CommandError where the guideline cannot be read."""
    deadline = options.get("deadline")
    return Terms(
        deadline=read_deadline(deadline) if deadline else None,
        language=options.get("language"),
        guideline=_text(options.get("guideline")),
        gold_every=options.get("gold_every"),
        practice_of=options.get("practice_of"),
        qualify=options.get("qualify"),
        no_deadline=bool(options.get("no_deadline")),
        no_qualify=bool(options.get("no_qualify")),
    )


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text("utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be read ({why}); name another file.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: is not UTF-8; save it as that.") from error
