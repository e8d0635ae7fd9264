"""Accounts of `make demo`.

Passwords are generated once and kept, so that a second run prints the same ones.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from annotation.models import User

ROLES = {
    "annotator": "labels reports under My work",
    "researcher": "labels too, and reads batches, campaigns and reports",
    "admin": "reads batches, campaigns and reports",
}


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
        name = f"demo-{role}"
        user, created = User.objects.get_or_create(username=name, defaults={"role": role})
        # A check costs as much as setting it: half a second of hashing.
        if created or not user.check_password(passwords[role]):
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
