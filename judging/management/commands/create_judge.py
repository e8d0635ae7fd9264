"""`create_judge`: defines a judge."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.protocol_files import task_called
from annotation.protocols.schema import schema_of
from datasets.console import Command as BaseCommand
from datasets.console import add_team_option, known_team, refusing, team_option
from datasets.models import Team
from judging import library
from judging.answer_files import SCRIPTED
from judging.answers.unassigned import record_alone
from judging.backends import BACKENDS, HOSTED
from judging.backends.base import UnassignedReply
from judging.backends.contents import is_deterministic
from judging.backends.decisions import find_offered_form
from judging.judge_backends import setup_of
from judging.judge_file.fixtures import failures
from judging.judge_file.template import FileError
from judging.judges import Definition, JudgeError, define, read_new_judge_file
from judging.models import Judge, UnassignedCall
from judging.params import PARAMS, ParamError, read_params


def _is_closed(prompt: str, team: Team) -> bool:
    """Return whether a prompt's protocol asks for codes only; true if no protocol is named."""
    task = task_called(prompt, team)
    return task is None or schema_of(task).is_closed


KEYS = ", ".join(f"{hosted.key_variable} with {name}" for name, hosted in HOSTED.items())


class Command(BaseCommand):
    help = "Define a judge. Its labels are listed under its name, and it can never be changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", nargs="?", default="")
        parser.add_argument("--backend", choices=sorted(BACKENDS))
        parser.add_argument(
            "--file",
            default="",
            metavar="FILE",
            help="a judge file (messages, parser, parameters), or the name of a file of the "
            "library",
        )
        parser.add_argument(
            "--check", action="store_true", help="only check the judge file and run its fixtures"
        )
        parser.add_argument("--model", default="", help="the model's name on its server")
        parser.add_argument("--base-url", default="", metavar="URL", help="with or without /v1")
        parser.add_argument(
            "--api-key-env",
            default="",
            metavar="VAR",
            help=f"the environment variable that holds the key (default {KEYS}); the key itself "
            "is never stored",
        )
        parser.add_argument(
            "--prompt",
            default="",
            metavar="P",
            help="a file, or the name of a protocol (default: the campaign's own protocol)",
        )
        parser.add_argument("--granularity", choices=Judge.Granularity.values, default="item")
        parser.add_argument(
            "--param", action="append", default=[], metavar="K=V", help=", ".join(PARAMS)
        )
        parser.add_argument(
            "--family",
            default="",
            metavar="F",
            help="whose model it is, as in the `family` of a batch's reports; the report then "
            "shows how the judge treats answers of its own family",
        )
        add_team_option(parser)
        parser.add_argument(
            "--answers",
            default="",
            metavar="F",
            help="for the backend scripted: the labels file whose labels it replays",
        )

    def run(self, **options: Any) -> None:
        if options["check"]:
            self._check(options["file"], _text_of(options["file"]), known_team(options))
            return
        if not options["name"] or not options["backend"]:
            raise CommandError("Give the judge a NAME and a --backend.")
        with refusing(JudgeError, ParamError, about=f"Judge {options['name']!r}"):
            team = team_option(options)
            judge, made = define(self.definition(options), team)
        if int(judge.params.get("samples", 1)) > 1 and is_deterministic(judge.params):
            self.say("At temperature 0 all samples are the same; give --param temperature=0.7.")
        if judge.backend == SCRIPTED:
            self.say("Note: a scripted judge is a fake, and is marked as one wherever it is named.")
        asked = f"{judge.backend}, {judge.granularity} by {judge.granularity}"
        if made:
            self.say(f"Created judge {judge} ({asked}).")
        else:
            self.say(f"Nothing to do: judge {judge} exists already ({asked}).")
        is_ours = made and judge.backend == "openai" and judge.base_url
        if is_ours and _is_closed(options["prompt"], team):
            self._propose_decisions(judge)

    def definition(self, options: Mapping[str, Any]) -> Definition:
        """Return the judge defined by the options.

        Raises ParamError, and CommandError for a file.
        """
        return Definition(
            name=options["name"],
            backend=options["backend"],
            model=options["model"],
            base_url=options["base_url"],
            api_key_env=options["api_key_env"],
            prompt=options["prompt"],
            granularity=options["granularity"],
            params=read_params(options["param"]),
            file=_text_of(options["file"]),
            answers=options["answers"],
            family=options["family"],
        )

    def _propose_decisions(self, judge: Judge) -> None:
        noted: list[UnassignedReply] = []
        form = asyncio.run(find_offered_form(setup_of(judge), noted))
        record_alone(UnassignedCall.Purpose.PROBE, judge, noted)
        if form:
            self.say(
                f"Its server also gives decisions ({form}): with --backend decisions, every "
                "label has a probability, and there is no text to parse."
            )

    def _check(self, name: str, text: str, team: Team | None) -> None:
        if not text:
            raise CommandError("--check needs a judge file; give --file.")
        try:
            file, _ = read_new_judge_file(text, team)
        except FileError as error:
            place = f"{name}, line {error.line}" if error.line else name
            raise CommandError(f"{place}: {error}.") from error
        if wrong := list(failures(file)):
            raise CommandError(f"{name}: {'; '.join(wrong)}.")
        about = f"{file.title or name}: {file.protocol.name}, read by {file.parser_name}"
        self.say(f"{about}; {len(file.fixtures)} fixtures are read as expected.")


def _text_of(path: str) -> str:
    """Return the text of a judge file, or of one in the library. Empty without a path."""
    if not path:
        return ""
    if path in library.names() and not Path(path).is_file():
        return library.text_of(path)
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        raise CommandError(
            f"{path}: cannot be read ({error.strerror}); correct the path."
        ) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: is not UTF-8; save it as UTF-8.") from error
