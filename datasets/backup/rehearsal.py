"""Rehearse a restore: into a scratch place, with the check of all data, and removed again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db import connection

from datasets.atomic_files import scratch_folder
from datasets.backup import contents, databases
from datasets.backup.archive import BackupError
from datasets.backup.last import note_test
from datasets.environment import environment_of_child

STEPS = (("restore",), ("migrate", "--verbosity", "0"), ("check_invariants",))


def rehearse(path: Path, say: Callable[[str], object]) -> bool:
    """Restore an archive into a scratch place and check its data; return whether it holds.

    The place is removed again, also one that a killed rehearsal left. Raises BackupError and
    OSError.
    """
    with scratch_folder(contents.data_folder() / "restore-test") as scratch:
        scratch.chmod(0o700)
        with databases.scratch_database(scratch) as url:
            env = _environment(scratch, url)
            connection.close()
            for step in STEPS:
                arguments = [*step, str(path.resolve())] if step[0] == "restore" else list(step)
                done = subprocess.run(
                    [sys.executable, "manage.py", *arguments], cwd=settings.BASE_DIR, env=env,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                )  # fmt: skip
                is_check = step[0] == "check_invariants"
                for line in done.stdout.splitlines() if is_check else ():
                    say(line)
                if done.returncode:
                    why = " ".join(done.stderr.split())[-1000:]
                    if not is_check:
                        raise BackupError(why or f"manage.py {step[0]} failed")
                    say(why)
                    return False
    note_test()
    return True


def _environment(scratch: Path, url: str) -> dict[str, str]:
    kept = environment_of_child("CELERY_BROKER_URL", "TANDEM_STATIC_DIR")
    return kept | {"TANDEM_DATA_DIR": str(scratch), "DATABASE_URL": url}
