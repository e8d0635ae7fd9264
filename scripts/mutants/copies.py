"""Copies of the work tree, each with a server that runs tests in it."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.mutants.sampling import PRODUCT, Mutant
from scripts.mutants.server import IMPOSSIBLE

ROOT = Path(__file__).resolve().parents[2]
DECIDED = {
    "DATABASE_URL", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND", "SECRET_KEY", "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY", "TANDEM_DATA_DIR", "PYTEST_ADDOPTS", "DJANGO_SETTINGS_MODULE",
}  # fmt: skip


@dataclass
class Session:
    """How a test run ended: `caught` is the test that failed, and `how` says how.

    `late` says whether a test or the whole run took too long. `log` holds every event.
    """

    caught: str | None = None
    how: str = ""
    late: bool = False
    passed: int = 0
    seconds: float = 0.0
    log: list[dict[str, Any]] = field(default_factory=list)
    covered: dict[str, dict[str, str]] = field(default_factory=dict)


class Copy:
    """A copy of the work tree; `template` is its migrated database, once there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "main"
        self.template: Path | None = None
        self.jobs = 0
        self.server: subprocess.Popen[str] | None = None
        self.warm: subprocess.Popen[str] | None = None
        self.patch: tuple[str, str, str] | None = None

    def fill(self) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        if (ROOT.parent / "shared").is_dir():
            (self.folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
        for app in (*PRODUCT, "scripts", "benchmarks"):
            compileall.compile_dir(self.root / app, quiet=2)

    def start(self, warm: bool = False) -> None:
        """Start the server. A second, warm server takes a minute and a gigabyte."""
        self.server = self._server()
        if warm:
            self.warm = self._server("--warm")

    def _server(self, *options: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name not in DECIDED}
        kept |= {"DEBUG": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        kept["TMPDIR"] = str(self.folder)
        started = subprocess.Popen(
            [sys.executable, "-m", "scripts.mutants.server", *options],
            cwd=self.root, env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert started.stdout is not None
        started.stdout.readline()
        return started

    def stop(self) -> None:
        for server in (self.server, self.warm):
            if server is not None and server.stdin is not None:
                server.stdin.close()
                server.wait()

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Put a mutant into the copy, with a timestamp that no compiled module has."""
        path = self.root / mutant.path
        code, was = path.read_bytes(), path.stat()
        path.write_bytes(mutant.mutated.encode())
        os.utime(path, (was.st_atime, was.st_mtime + 10 + self.jobs))
        self.patch = mutant.path, mutant.source, mutant.mutated
        try:
            yield
        finally:
            self.patch = None
            path.write_bytes(code)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    def migrate(self, trace: bool = False) -> Session:
        """Create the template that later runs copy instead of migrating."""
        template = self.folder / "template.sqlite3"
        done = self._do({"what": "database", "template": str(template)}, 600, trace=trace)
        if template.exists():
            self.template = template
        return done

    def test(
        self,
        wanted: Sequence[str] | None,
        modules: Sequence[str] = (),
        limits: Mapping[str, float] | None = None,
        limit: float = 600,
        trace: bool = False,
        processes: bool = True,
        at_start: bool = False,
    ) -> Session:
        """Run the requested tests, or all of the modules; `at_start` does without the template."""
        if wanted is not None:
            modules = list(dict.fromkeys(test.partition("::")[0] for test in wanted))
        there = [module for module in modules if (self.root / module).is_file()]
        if not there:
            return Session()
        job = {
            "what": "tests", "wanted": wanted, "modules": there, "limits": dict(limits or {}),
            "template": str(self.template) if self.template and not at_start else None,
            "warm": self.warm is not None and not at_start,
            "patch": self.patch,
        }  # fmt: skip
        return self._do(job, limit, trace=trace, processes=processes)

    def _do(
        self, job: dict[str, Any], limit: float, trace: bool = False, processes: bool = True
    ) -> Session:
        self.jobs += 1
        folder = self.folder / f"r{self.jobs}"
        (folder / "data").mkdir(parents=True)
        (folder / "tmp").mkdir()
        environment = {
            "TANDEM_DATA_DIR": f"{folder}/data",
            "TMPDIR": f"{folder}/tmp",
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{folder}/h",
        }
        if not trace:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        traced = folder / "lines.json"
        job |= {
            "folder": str(folder), "root": str(self.root), "limit": limit, "product": PRODUCT,
            "environment": environment, "trace": str(traced) if trace else None,
            "processes": processes,
        }  # fmt: skip
        try:
            answer = None
            if job.get("warm"):
                answer = _ask(self.warm, job)
            if answer is None or answer["status"] == IMPOSSIBLE:
                answer = _ask(self.server, job)
            session = _read(folder, answer["status"], answer["seconds"])
            if traced.exists():
                session.covered = json.loads(traced.read_text("utf-8"))
            return session
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _ask(server: subprocess.Popen[str] | None, job: dict[str, Any]) -> dict[str, Any]:
    assert server is not None
    assert server.stdin is not None
    assert server.stdout is not None
    print(json.dumps(job), file=server.stdin, flush=True)
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    return answer


def _read(folder: Path, status: int | None, seconds: float) -> Session:
    log = folder / "log"
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    happened = [json.loads(line) for line in lines]
    session = Session(seconds=round(seconds, 2), log=happened)
    session.passed = sum(each["what"] == "passed" for each in happened)
    wrong = next((each for each in happened if each["what"] in ("failed", "collection")), None)
    begun = [each["test"] for each in happened if each["what"] == "begin"]
    ended = {each["test"] for each in happened if each["what"] == "end"}
    at = begun[-1] if begun and begun[-1] not in ended else "(no test)"
    out = folder / "out"
    said = out.read_text("utf-8", "replace") if out.exists() else ""
    if wrong:
        session.caught, session.how = wrong["test"], wrong["how"]
    elif status is None or "Timeout (" in said:
        session.caught, session.how, session.late = at, "took too long", True
    elif status not in (0, 5):
        lines = said.strip().splitlines()
        session.caught, session.how = at, f"status {status}: {lines[-1] if lines else ''}"[:200]
    return session


@contextmanager
def copies(count: int, warm: bool = False) -> Iterator[list[Copy]]:
    """Create copies with servers, and remove them at the end of the block."""
    with TemporaryDirectory(prefix="mut") as name, ExitStack() as stack:
        made = [Copy(Path(name).resolve() / str(number)) for number in range(count)]
        for copy in made:
            copy.fill()
            copy.start(warm)
            stack.callback(copy.stop)
        yield made
