"""`python -m scripts.services run [--only NAME] [--keep FOLDER] [--hurried] -- COMMAND…`"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from scripts.services.postgres_server import postgres
from scripts.services.processes import CannotStartError
from scripts.services.valkey_server import valkey
from tandem.place import set_umask


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    set_umask()
    try:
        with ExitStack() as services:
            env = _start(options, services)
            return _run(options.command, env)
    except CannotStartError as error:
        print(f"scripts.services: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.services", description=__doc__)
    run = parser.add_subparsers(required=True).add_parser("run", help="servers around a command")
    run.add_argument("--only", choices=("postgres", "valkey"), help="one of the two")
    run.add_argument("--keep", type=Path, metavar="FOLDER", help="where the database stays")
    run.add_argument("--hurried", action="store_true", help="a database that a test throws away")
    run.add_argument("command", nargs="+", metavar="COMMAND")
    return parser


def _start(options: argparse.Namespace, services: ExitStack) -> dict[str, str]:
    env: dict[str, str] = {}
    if options.only != "valkey":
        server = services.enter_context(postgres(options.keep, options.hurried))
        env["DATABASE_URL"] = server.url()
    if options.only != "postgres":
        env["CELERY_BROKER_URL"] = services.enter_context(valkey()).url
    for name, url in env.items():
        print(f"{name}={url}", file=sys.stderr)
    return env


def _run(command: list[str], env: dict[str, str]) -> int:
    """Run the command and pass our signals on, so that it can end before its servers do."""
    process = subprocess.Popen(command, env={**os.environ, **env})
    for name in (signal.SIGINT, signal.SIGTERM):
        # A terminal sends an interrupt to the command, too, but a supervisor only to this process.
        signal.signal(name, lambda number, _: process.send_signal(number))
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
