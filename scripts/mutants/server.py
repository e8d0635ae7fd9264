"""`python -m scripts.mutants.server`, in a copy of the work tree: run tests in forks of itself.

The server has imported all libraries but none of our modules, so a fork starts at once and still
imports the mutated code. With `--warm` it has also imported the product and all tests: a fork
patches the mutant's functions, and starts ten times as fast. A job is a line of JSON on standard
input, and its result a line on standard output. The job's folder holds `log`, one line of JSON for
each event, and `out`, the output of pytest.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripts.mutants.patching import Functions

LIBRARIES = (
    "pytest", "pytest_django.plugin", "_pytest.python", "hypothesis", "schemathesis", "coverage",
    "numpy", "scipy.stats", "scipy.optimize", "statsmodels.stats.api", "pyarrow.parquet",
    "django.test", "django.db.models", "django.test.client", "django.core.management",
    "django.db.migrations.executor", "rest_framework", "celery", "kombu", "requests", "psycopg",
    "jsonschema", "structlog", "yaml", "django.forms", "django.views.generic", "django.template",
    "django.contrib.admin", "multiprocessing.connection", "xml.etree.ElementTree", "sqlite3",
)  # fmt: skip
IMPOSSIBLE = 78  # the exit status of a fork into which a mutant cannot be put
BECOMES_PARENT_OF_ORPHANS = 36  # prctl's PR_SET_CHILD_SUBREAPER


def main() -> int:
    for name in LIBRARIES:
        with suppress(Exception):
            importlib.import_module(name)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(BECOMES_PARENT_OF_ORPHANS, 1, 0, 0, 0)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    warm = Warm() if "--warm" in sys.argv else None
    print("{}", file=out)
    while line := sys.stdin.readline():
        print(json.dumps(run(json.loads(line), warm)), file=out)
    return 0


class Warm:
    """The imports of a warm server: the product and the tests, as pytest imports them."""

    def __init__(self) -> None:
        import pytest

        out = os.open(os.devnull, os.O_WRONLY)
        os.dup2(out, 1)
        os.dup2(out, 2)
        # Read by the settings, so that all forks have it.
        self.data = Path(tempfile.mkdtemp(prefix="data"))
        os.environ["TANDEM_DATA_DIR"] = str(self.data)
        pytest.main(["-q", "-p", "no:cacheprovider", "--collect-only", "tests"])
        self.functions = Functions(Path.cwd())
        self.kept = set(self.data.iterdir())

    def is_ready(self, patch: tuple[str, str, str] | None) -> bool:
        """Prepare a fork, with a mutant if there is one; return whether that was possible."""
        os.environ["TANDEM_DATA_DIR"] = str(self.data)
        tempfile.tempdir = None
        return patch is None or self.functions.patch(*patch)

    def clear(self) -> None:
        """Remove what a fork left in the data folder."""
        for each in set(self.data.iterdir()) - self.kept:
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink()


def run(job: dict[str, Any], warm: Warm | None) -> dict[str, Any]:
    """Return a job's exit status and seconds. The status is None if it took too long."""
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _work_and_exit(job, warm)
    status: int | None = None
    try:
        while time.monotonic() - began < job["limit"]:
            ended, waited = os.waitpid(pid, os.WNOHANG)
            if ended:
                status = os.waitstatus_to_exitcode(waited)
                break
            time.sleep(0.02)
    finally:
        _end_all()
        if warm is not None:
            warm.clear()
    return {"status": status, "seconds": time.monotonic() - began}


def _end_all() -> None:
    """End the processes that a job left behind: our children and their descendants."""
    while ours := _children():
        for pid in ours:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in ours:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    me, found = str(os.getpid()), []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = stat.read_text("utf-8", "replace")
            if text.rpartition(")")[2].split()[1] == me:
                found.append(int(stat.parent.name))
    return found


def _work_and_exit(job: dict[str, Any], warm: Warm | None) -> None:
    status = 1
    try:
        os.setsid()
        out = os.open(str(Path(job["folder"], "out")), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, handle in enumerate((os.open(os.devnull, os.O_RDONLY), out, out)):
            os.dup2(handle, number)
        sys.stdin = os.fdopen(0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ.update(job["environment"])
        if warm is not None and not warm.is_ready(job["patch"]):
            os._exit(IMPOSSIBLE)
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in job["environment"]
        from scripts.mutants import session

        status = int(getattr(session, job["what"])(job))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
