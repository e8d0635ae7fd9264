"""Accounts and the worker of `make demo`.

Passwords are generated once and kept, so that a second run prints the same ones.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from annotation.models import User

ROLES = {
    "annotator": "labels reports under My work",
    "researcher": "labels too, and reads batches, campaigns and reports",
    "admin": "reads batches, campaigns and reports",
}
GRACE = 20


@dataclass(frozen=True)
class Account:
    """A name and a password to print, and what the account may do."""

    name: str
    password: str
    does: str


def make_accounts() -> list[Account]:
    """Create one account for each role; an existing account keeps its password."""
    passwords = _passwords(Path(settings.DATA_DIR) / "demonstration.json")
    for role in ROLES:
        user, _ = User.objects.get_or_create(username=f"demo-{role}", defaults={"role": role})
        if not user.check_password(passwords[role]):
            user.set_password(passwords[role])
            user.save()
    return [Account(f"demo-{role}", passwords[role], does) for role, does in ROLES.items()]


def _passwords(path: Path) -> dict[str, str]:
    if not path.exists():
        drawn = {role: secrets.token_urlsafe(12) for role in ROLES}
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            json.dump(drawn, file)
    passwords: dict[str, str] = json.loads(path.read_text("utf-8"))
    return passwords


@contextmanager
def celery_worker() -> Iterator[Path]:
    """Start a worker in its own process group, yield its log's path, and stop it at the end."""
    log = Path(settings.DATA_DIR) / "worker.log"
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1",
               "--loglevel", "INFO"]  # fmt: skip
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, cwd=settings.BASE_DIR, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield log
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        # Its children are in the same group and would continue without it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
