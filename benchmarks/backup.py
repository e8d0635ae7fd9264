"""How long saves take while the site is backed up: `python -m benchmarks.backup --mb 300`.

Four threads of another process commit a row each, twenty times a second, first alone and then
during `tandem backup`. Prints one JSON object: milliseconds of a commit, and the backup's seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT, manage
from benchmarks.site import production

THREADS, PAUSE = 4, 0.05
ROW = 100_000


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=300, help="the size of the database")
    parser.add_argument("--seconds", type=float, default=10, help="how long to measure it alone")
    parser.add_argument("--inside", choices=("fill", "save"), help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.inside:
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        django.setup()
        _fill(options.mb) if options.inside == "fill" else _save()
        return 0
    print(json.dumps(measure(options.mb, options.seconds), indent=1))
    return 0


def measure(megabytes: int, seconds: float) -> dict[str, Any]:
    """Return milliseconds of a commit by share, alone and during a backup, and its seconds."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place) / "data"
        folder.mkdir()
        env = {**os.environ, **production(folder, os.environ.get("DATABASE_URL"))}
        manage("migrate", "--verbosity", "0", env=env)
        inside = [sys.executable, "-m", "benchmarks.backup", "--mb", str(megabytes), "--inside"]
        subprocess.run([*inside, "fill"], cwd=ROOT, env=env, check=True)
        saver = subprocess.Popen(
            [*inside, "save"], cwd=ROOT, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        with saver:
            assert saver.stdin is not None
            time.sleep(seconds + 3)
            start = time.time()
            backup = [sys.executable, "manage.py", "backup", str(Path(place) / "b.zip")]
            subprocess.run(backup, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
            end = time.time()
            out, _ = saver.communicate("")
        saves = [(float(at), float(spent)) for at, spent in json.loads(out)]
        return {
            "megabytes": megabytes,
            "archive_megabytes": round((Path(place) / "b.zip").stat().st_size / 2**20),
            "backup_seconds": round(end - start, 1),
            "alone": _shares([spent for at, spent in saves if at < start]),
            "during": _shares([spent for at, spent in saves if start <= at < end]),
        }


def _shares(spent: list[float]) -> dict[str, float]:
    ordered = sorted(1000 * each for each in spent)
    at = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {name: round(ordered[int(share * (len(ordered) - 1))], 1) for name, share in at.items()}
    return {"saves": len(ordered), **found, "worst": round(ordered[-1], 1)}


def _fill(megabytes: int) -> None:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE filling (text text)")
        for _ in range(megabytes * 2**20 // ROW):
            # Compresses to half, as texts do.
            cursor.execute("INSERT INTO filling VALUES (%s)", [os.urandom(ROW // 2).hex()])


def _save() -> None:
    """Commit rows until standard input is closed, and print when each began and took."""
    from audit.recording import record

    found: list[tuple[float, float]] = []
    over = threading.Event()

    def work() -> None:
        from django.db import connection, transaction

        while not over.is_set():
            at, start = time.time(), time.perf_counter()
            with transaction.atomic():
                record("login.failed", None, None)
            found.append((at, time.perf_counter() - start))
            time.sleep(PAUSE)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main())
