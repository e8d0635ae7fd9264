"""`create_judge`: defines a judge."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from datasets.console import Command as BaseCommand
from judging.backends import BACKENDS, HOSTED
from judging.backends.contents import is_deterministic
from judging.judges import (
    PARAMS,
    Definition,
    JudgeError,
    ParamError,
    define,
    read_params,
)
from judging.models import Judge

KEYS = ", ".join(f"{hosted.key_variable} with {name}" for name, hosted in HOSTED.items())


class Command(BaseCommand):
    help = "Defines a judge, whose labels are listed under its name. It can never be changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--backend", required=True, choices=sorted(BACKENDS))
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

    def run(self, **options: Any) -> None:
        try:
            judge, made = define(
                Definition(
                    name=options["name"],
                    backend=options["backend"],
                    model=options["model"],
                    base_url=options["base_url"],
                    api_key_env=options["api_key_env"],
                    prompt=options["prompt"],
                    granularity=options["granularity"],
                    params=read_params(options["param"]),
                )
            )
        except (JudgeError, ParamError) as error:
            raise CommandError(f"Judge {options['name']!r}: {error}.") from error
        if int(judge.params.get("samples", 1)) > 1 and is_deterministic(judge.params):
            self.say("At temperature 0 all samples are alike; give --param temperature=0.7.")
        what = "Created" if made else "Nothing to do: it is there already"
        self.say(
            f"{what}: judge {judge} ({judge.backend}, {judge.granularity} by {judge.granularity})."
        )
