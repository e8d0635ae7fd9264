"""Verbs that stay until they are stopped: the site, and workers beside it.

gunicorn and Celery look for modules in the current folder first, so they run in the site's folder.
Folders and files that the user names are made absolute before.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tandem.place import IS_INSTALLED, SITE, data_folder
from tandem.verbs import PROCESSES

ON_WINDOWS = (
    "The site does not run on Windows itself. Use WSL (wsl --install) or a container: see Install "
    "in the documentation. The library and the verbs over files run here."
)
DATA = "TANDEM_DATA_DIR"
# The settings of a server, but for TLS, which nobody has on his own machine.
OWN_MACHINE = {"TANDEM_PLAIN_HTTP": "1", "TANDEM_LOG_FORMAT": "text"}
SERVER = {"SECRET_KEY", "ALLOWED_HOSTS", "DEBUG"}
DEFAULTS = {
    "demo": {"DEBUG": "1"},
    "serve": {**OWN_MACHINE, "TANDEM_WITH_WORKERS": "1"},
    "worker": OWN_MACHINE,
}
INSTALLED = ("demo", "serve", "worker", "migrate", "work")
"""Verbs that say at their start where the data are, if Tandem is installed."""


class PlatformError(Exception):
    """Why the site cannot run on this system, in one line."""


def take_data_folder(words: Sequence[str]) -> list[str]:
    """Return a command line without `--data FOLDER`, and keep the folder in the environment.

    A folder that is given, there or by TANDEM_DATA_DIR, is made absolute, since the site's
    processes run in a folder of their own. Raises ValueError if the folder is missing.
    """
    kept: list[str] = []
    given: str | None = None
    waiting = iter(words)
    for word in waiting:
        if word == "--data":
            given = next(waiting, "")
        elif word.startswith("--data="):
            given = word.removeprefix("--data=")
        else:
            kept.append(word)
    if given == "":
        raise ValueError("--data needs a folder.")
    if folder := given or os.environ.get(DATA):
        os.environ[DATA] = str(Path(folder).expanduser().absolute())
    return kept


def prepare(verb: str) -> None:
    """Set what a verb needs in the environment unless it is set, and say where the data are.

    An installed Tandem is on somebody's own machine unless the settings of a server are given.
    Raises PlatformError on Windows, which has no processes to fork.
    """
    if sys.platform == "win32":
        raise PlatformError(ON_WINDOWS)
    is_own = IS_INSTALLED and not os.environ.keys() & SERVER
    for name, value in DEFAULTS.get(verb, OWN_MACHINE if is_own else {}).items():
        os.environ.setdefault(name, value)
    if IS_INSTALLED and verb in INSTALLED:
        print(f"The data are in {os.environ.get(DATA) or data_folder()}.", file=sys.stderr)


def become(verb: str, arguments: Sequence[str]) -> int:
    """Become the process of a verb. Return only if it cannot start."""
    # A command line that is meant for trying things out may have set it.
    os.environ["DEBUG"] = "0"
    parser = ArgumentParser(f"tandem {verb}", description=f"{PROCESSES[verb].capitalize()}.")
    if verb == "serve":
        parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args(arguments)
    prepare(verb)
    if verb == "worker":
        _become("celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "INFO")
    os.environ.setdefault("BIND", f"127.0.0.1:{options.port}")
    from tandem.program.site import run_django

    for words in (["migrate", "--verbosity=0"], ["collectstatic", "--noinput", "--verbosity=0"]):
        if status := run_django(words):
            return status
    print(f"The site: http://{os.environ['BIND']}/", file=sys.stderr)
    return _become("gunicorn", "-c", "config/gunicorn.py", "config.wsgi")


def _become(module: str, *arguments: str) -> NoReturn:
    os.chdir(SITE)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])
