"""Forks that start with all of Tandem imported, for Tandem's own commands.

Django's set-up, with all that registers with it, takes half a second of processor time, and the
views, which workers and web servers import, another second and a half. A server of `tests.forks`
that was started as `ready` has done both. Its forks read the settings again, in their environment.
They are used for commands whose environment differs from the server's only in FOLLOWED.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = (
    "celery", "gunicorn", "tests.annotation.crowd", "tests.annotation.people.losers",
    "tests.commands", "tests.judging.hurried", "tests.security.log_in_attempts",
)  # fmt: skip
# Imports store nothing that depends on these.
FOLLOWED = (
    "BIND", "CELERY_BROKER_URL", "DATABASE_URL", "TANDEM_DATA_DIR", "TANDEM_LOG_FORMAT",
    "TANDEM_STATIC_DIR", "TANDEM_WITH_WORKERS", "WEB_OTHER_WORKERS", "WEB_WORKERS",
)  # fmt: skip
OF_TESTS = ("PYTEST_", "TANDEM_TEST_")
PLACES = {"development": {"DEBUG": "1"}, "site": {"TANDEM_PLAIN_HTTP": "1"}}
# These differ between the two servers. Each process reads all others again.
LEFT_OUT = (*FOLLOWED, "CELERY_RESULT_BACKEND", "DEBUG", "SECRET_KEY", "TANDEM_PLAIN_HTTP")
KEPT = ("DATABASE_URL", "TANDEM_DATA_DIR")
IMPORTED = (
    "annotation.management.commands.create_campaign",
    "annotation.management.commands.export",
    "config.urls",
    "datasets.management.commands.load_batch",
    "judging.management.commands.check_invariants",
    "judging.management.commands.create_judge",
    "judging.management.commands.run_judge",
)


def environment(place: str) -> dict[str, str]:
    """The environment of a server."""
    kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    own = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | own | PLACES[place]


def place_for(job: Mapping[str, Any]) -> str:
    """Return which server carries out a job, or an empty text for none."""
    words, env = job["words"], job["env"]
    ours = words[0] == "manage.py" or (words[0] == "-m" and words[1] in PROGRAMS)
    if ours and Path(job["cwd"]) == ROOT:
        for place in PLACES:
            if _decisive(env) == _decisive(environment(place)):
                return place
    return ""


def _decisive(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in env.items()
        if name not in FOLLOWED and not name.startswith(OF_TESTS)
    }


def set_up() -> None:
    """Prepare the server for its forks."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for name in IMPORTED:
        importlib.import_module(name)


def follow(words: Sequence[str]) -> None:
    """Read the settings from a fork's environment, and drop objects created from other settings.

    If the settings are invalid, start without the preloaded modules.
    """
    from django.conf import Settings, settings
    from django.core.cache import caches
    from django.core.files.storage import storages
    from django.db import connections

    try:
        importlib.reload(sys.modules["config.settings"])
        read = Settings("config.settings")
    except Exception:
        os.execv(sys.executable, [sys.executable, *words])
    lazy: Any = settings
    # Keep the defaults that libraries have added.
    for name, value in vars(lazy._wrapped).items():
        vars(read).setdefault(name, value)
    lazy._wrapped = read
    handlers: tuple[Any, ...] = (caches, connections, storages)
    for handler in handlers:
        vars(handler).clear()
        type(handler).__init__(handler)
