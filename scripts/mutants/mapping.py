"""The map of tests: the lines that each test runs, its duration, and the fixtures that it shares.

The map is a database in `var/mutants`. New or changed test modules are mapped again, and others are
kept. The text of the code is stored with it, so that lines are found again after they move.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from coverage.numbits import numbits_to_nums

from scripts.mutants.copies import ROOT, Copy, Session, copies
from scripts.mutants.sampling import sources

FOLDER = ROOT / "var" / "mutants"
FILE = FOLDER / "map.sqlite3"
# Tests of things other than the product, and those that `make test` runs separately.
ELSEWHERE = ("tests/benchmarks", "tests/containers", "tests/docs", "tests/scripts", "tests/vllm")
# modules per session; with more, caches filled by earlier tests would hide lines
TOGETHER = 4
START = ""  # the pseudo-test for start-up and migrations
TABLES = """
CREATE TABLE IF NOT EXISTS modules (module TEXT PRIMARY KEY, hash TEXT);
CREATE TABLE IF NOT EXISTS tests
    (test TEXT PRIMARY KEY, module TEXT, seconds REAL, fixtures TEXT, far INTEGER, lines INTEGER);
CREATE TABLE IF NOT EXISTS fixtures (fixture TEXT PRIMARY KEY, seconds REAL);
CREATE TABLE IF NOT EXISTS sources (hash TEXT PRIMARY KEY, text TEXT);
CREATE TABLE IF NOT EXISTS covered
    (module TEXT, test TEXT, path TEXT, hash TEXT, lines BLOB);
CREATE INDEX IF NOT EXISTS covered_path ON covered (path);
CREATE INDEX IF NOT EXISTS covered_module ON covered (module);
"""


def modules(root: Path) -> dict[str, str]:
    """Return the test modules that are mapped, with a hash that shows whether one has changed."""
    found = (path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))
    return {
        path: _hash((root / path).read_text("utf-8"))
        for path in sorted(found)
        if not path.startswith(ELSEWHERE)
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Map:
    def __init__(self, file: Path = FILE) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.database = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self.database.executescript(TABLES)
        self.lock = threading.Lock()

    def stale(self, root: Path) -> list[str]:
        """Return the modules that are missing from the map or have changed."""
        known = dict(self.database.execute("SELECT module, hash FROM modules"))
        return [module for module, text in modules(root).items() if known.get(module) != text]

    def forget(self, gone: Iterable[str]) -> None:
        for module in gone:
            for table in ("modules", "tests", "covered"):
                self.database.execute(f"DELETE FROM {table} WHERE module = ?", (module,))  # noqa: S608

    def take(self, root: Path, session: Session, mapped: Sequence[str]) -> None:
        """Store the results of a session of these modules."""
        texts = sources(root)
        hashes = {path: _hash(text) for path, text in texts.items()}
        with self.lock, self.database:
            self.forget(mapped)
            run = self.database.executemany
            run("INSERT OR IGNORE INTO sources VALUES (?, ?)",
                [(hashes[path], text) for path, text in texts.items()])  # fmt: skip
            failed = {each["test"] for each in session.log if each["what"] == "failed"}
            passed = {each["test"] for each in session.log if each["what"] == "passed"} - failed
            for test, paths in session.covered.items():
                module = test.partition("::")[0]
                if (module in mapped and test in passed) or test == START:
                    rows = [
                        (module, test, path, hashes[path], bytes.fromhex(lines))
                        for path, lines in paths.items()
                        if path in hashes
                    ]
                    run("INSERT INTO covered VALUES (?, ?, ?, ?, ?)", rows)
            self._keep_costs(session, passed)
            # Modules that fail now are mapped again the next time.
            broken = {test.partition("::")[0] for test in failed}
            here = {} if session.caught and not failed else modules(root)
            run("INSERT OR REPLACE INTO modules VALUES (?, ?)",
                [(module, "" if module in broken else here.get(module, ""))
                 for module in mapped])  # fmt: skip

    def _keep_costs(self, session: Session, passed: set[str]) -> None:
        tests, fixtures = [], []
        for each in session.log:
            name = each["test"]
            if each["what"] == "fixture":
                fixtures.append((name, each["seconds"]))
            elif each["what"] == "end" and name in passed:
                lines = map(bytes.fromhex, session.covered.get(name, {}).values())
                count = sum(len(numbits_to_nums(each)) for each in lines)
                shared = json.dumps(each["fixtures"])
                module = name.partition("::")[0]
                tests.append((name, module, each["seconds"], shared, each["processes"], count))
        run = self.database.executemany
        run("INSERT OR REPLACE INTO tests VALUES (?, ?, ?, ?, ?, ?)", tests)
        run("INSERT OR REPLACE INTO fixtures VALUES (?, ?)", fixtures)

    def covering(self, path: str, text: str) -> dict[str, set[int]]:
        """Return each test that runs lines of a file, with their numbers in the current file."""
        now = _hash(text)
        found: dict[str, set[int]] = {}
        moved: dict[str, dict[int, int]] = {}
        rows = self.database.execute(
            "SELECT test, hash, lines FROM covered WHERE path = ?", (path,)
        )
        for test, was, lines in rows:
            numbers = numbits_to_nums(lines)
            if was != now:
                moves = moved.setdefault(was, {}) or self._moves(was, text)
                moved[was] = moves
                numbers = [moves[number] for number in numbers if number in moves]
            found.setdefault(test, set()).update(numbers)
        return found

    def _moves(self, was: str, text: str) -> dict[int, int]:
        row = self.database.execute("SELECT text FROM sources WHERE hash = ?", (was,)).fetchone()
        old, new = (row[0] if row else "").splitlines(), text.splitlines()
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        return {b.a + n + 1: b.b + n + 1 for b in blocks for n in range(b.size)}

    def costs(self) -> tuple[dict[str, tuple[float, list[str], bool, int]], dict[str, float]]:
        """Return the costs of each test, and the seconds of each shared fixture.

        A test's costs are its seconds, its shared fixtures, whether it starts processes, and the
        number of lines that it runs.
        """
        rows = self.database.execute("SELECT test, seconds, fixtures, far, lines FROM tests")
        tests = {test: (s, json.loads(names), bool(far), n) for test, s, names, far, n in rows}
        return tests, dict(self.database.execute("SELECT fixture, seconds FROM fixtures"))


def make(chosen: Sequence[str] | None, workers: int, say: bool = True) -> None:
    """Map the wanted modules, or those that are stale, in copies of the work tree."""
    with copies(workers) as made:
        update(Map(), made, chosen, say)


def update(known: Map, made: Sequence[Copy], chosen: Sequence[str] | None, say: bool) -> None:
    """Map modules and remove those that no longer exist."""
    root = made[0].root
    there = set(modules(root))
    mapped = {row[0] for row in known.database.execute("SELECT module FROM modules")}
    with known.database:
        known.forget(mapped - there - {START})
    stale = known.stale(root) if chosen is None else [m for m in chosen if m in there]
    if not stale:
        return
    begun = time.monotonic()
    for copy in made:
        session = copy.migrate(trace=copy is made[0])
        if copy is made[0]:
            known.take(root, session, [START])
    waiting: queue.Queue[list[str]] = queue.Queue()
    for chunk in _chunks(stale):
        waiting.put(chunk)
    count = waiting.qsize()

    def work(copy: Copy) -> None:
        while True:
            try:
                chunk = waiting.get_nowait()
            except queue.Empty:
                return
            _map(known, copy, chunk)
            if say:
                done = count - waiting.qsize()
                print(f"mapped {done}/{count}, {time.monotonic() - begun:.0f} s: {chunk[-1]}",
                      flush=True)  # fmt: skip

    threads = [threading.Thread(target=work, args=(copy,)) for copy in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _map(known: Map, copy: Copy, chunk: list[str]) -> None:
    """Trace modules. If that fails, trace them again without their child processes."""
    session = copy.test(None, chunk, limit=1200, trace=True)
    known.take(copy.root, session, chunk)
    failed = {each["test"] for each in session.log if each["what"] in ("failed", "collection")}
    again = [module for module in chunk if any(test.startswith(module) for test in failed)]
    if session.caught and not again:
        again = chunk
    for module in again:
        known.take(copy.root, copy.test(None, [module], limit=1200, trace=True, processes=False),
                   [module])  # fmt: skip


def _chunks(stale: Iterable[str]) -> list[list[str]]:
    made: list[list[str]] = []
    for _, group in groupby(stale, lambda module: module.rpartition("/")[0]):
        folder = list(group)
        made += [folder[n : n + TOGETHER] for n in range(0, len(folder), TOGETHER)]
    slow = ("tests/browser", "tests/serving", "tests/judging")
    return sorted(made, key=lambda chunk: not chunk[0].startswith(slow))
