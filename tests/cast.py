"""A small batch with awkward ids and texts, and commands run as a user runs them.

Ids contain slashes, hashes and blanks. The report `r#1` can be confused with sentence 1 of `r`.
Texts contain emoji, combining marks, right-to-left script and CRLF.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Campaign
from tests import forks
from tests.commands import command_line
from tests.databases import environment
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
Line = dict[str, Any]

BRIDGE = "The bridge 🌉 opened in 1901.\r\nAnna Lee\u0301 built it. שלום, said the pilot."
RIVER = "It spans the river.\nقديم means old. 👩‍👩‍👧 cross it."
FULL = "Anna Lee\u0301 built it 🌉. It opened in 1901.\r\nשלום לכולם! It opened in 1901."
SHORT = "Nobody knows 🤷🏽. Perhaps Anna."

FIRST: Line = {
    "id": "q/1",
    "text": "How was the bridge built?",
    "asked_at": "2024-05-03",
    "questions": [
        {"id": "a/b#1", "text": "When did it open?", "weight": 2.0},
        {"id": " blank ", "text": "Who built it?", "meta": {"by": "hand"}},
        {"id": "🌉", "text": "Is it old?"},
    ],
    "passages": [
        {
            "id": "p",
            "text": BRIDGE,
            "title": "The bridge",
            "source": "web",
            "published_at": "2024-04-30",
            "age": "3 days",
            "sentences": ["The bridge 🌉 opened in 1901.", "Anna Lee\u0301 built it."],
            "relevant": True,
        },
        {"id": "p#1", "text": RIVER, "source": "private", "relevant": False},
    ],
    "key_points": [
        {"id": "k/1", "text": "It opened in 1901.", "passage": "p", "spans": ["opened in 1901"]},
        {"id": "k#2", "text": "It spans a river.", "passage": "p#1", "score": 0.5},
    ],
    "reports": [
        {
            "id": "r",
            "text": FULL,
            "system": "one",
            "setting": "top",
            "context": ["p", "p#1"],
            "citations": ["p"],
            "sentences": ["Anna Lee\u0301 built it 🌉.", "It opened in 1901."],
            "deflected": False,
            "key_points": [
                {"id": "r/1", "text": "Anna built it.", "spans": ["Anna Lee\u0301 built it 🌉."]},
                {"id": "r#2", "text": "It opened in 1901."},
            ],
        },
        {"id": "r#1", "text": SHORT, "system": "two"},
    ],
    "rankings": [{"system": "bm25", "passages": ["p#1", "p"]}],
    "references": [{"text": "By hand.", "citations": ["p"], "meta": {"writer": 1}}],
    "meta": {"domain": "bridges", "nested": {"list": [1, None, True, "x"]}},
}
SECOND: Line = {
    "id": "q 2",
    "text": "Who was Anna?",
    "questions": [{"id": "q2:a", "text": "When was she born?"}, {"id": "q2:b", "text": "Where?"}],
    "passages": [{"id": "p2", "text": "Anna was born in Ghent 🏙 in 1860.", "relevant": True}],
    "key_points": [{"id": "k3", "text": "She was born in Ghent.", "passage": "p2"}],
    "reports": [
        {"id": "s one", "text": "She was born in Ghent 🏙.", "system": "one"},
        {"id": "s/two", "text": "She was born\u2028in 1860. No more is known.", "system": "two"},
    ],
}
THIRD: Line = {**json.loads(json.dumps(SECOND).replace('"q2:', '"q3:')), "id": "q3"}
THIRD["passages"] = [{"id": "p3", "text": "Bruges lies near.\rGhent does not.", "relevant": True}]
THIRD["key_points"] = [{"id": "k4", "text": "Bruges lies near.", "passage": "p3"}]
THIRD["reports"] = [
    {"id": "t1", "text": "Bruges lies near.", "system": "one"},
    {"id": "t2", "text": "It does not.", "system": "two"},
]
BATCH = (FIRST, SECOND, THIRD)
NUGGETS = [{"id": name, "text": "Anna built it."} for name in ("n", "n/1", "r")]
CITING = FIRST["reports"][0] | {"sentence_citations": [["p"], ["p", "p#1"]]}
RICH: tuple[Line, ...] = (
    {**FIRST, "nuggets": NUGGETS, "reports": [CITING, *FIRST["reports"][1:]]},
    SECOND,
    THIRD,
)
"""The small cast with a nugget bank, and a report whose sentences cite."""


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_bytes(text.encode("utf-8"))
    return path


def run(*arguments: object) -> str:
    """Run a command in this process; return its standard output."""
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def exported(campaign: str, what: str, *arguments: str) -> list[Line]:
    text = run("export", "--campaign", campaign, "--what", what, "--format", "jsonl", *arguments)
    return [json.loads(line) for line in text.split("\n") if line]


def load(folder: Path, lines: Iterable[Mapping[str, Any]] = BATCH, name: str = "b") -> Path:
    path = write_lines(folder / f"{name}.jsonl", lines)
    run("load_batch", path, "--name", name)
    return path


def campaign_of(protocol: str, *arguments: str, name: str = "c", batch: str = "b") -> Campaign:
    """Create a campaign that is open to all, unless the arguments say otherwise."""
    pool = () if "--pool" in arguments else ("--pool", "open")
    run("create_campaign", name, "--protocol", protocol, "--batch", batch, *pool, *arguments)
    return Campaign.objects.get(name=name)


def manage(
    folder: Path, *arguments: object, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process, with the database in `folder`."""
    return _run(_command(arguments), folder, timeout=timeout)


def manage_all(
    folder: Path, *commands: Sequence[object], said: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run commands in sequence in one process, which reads `said`."""
    return _run(command_line(commands), folder, said=said)


def _run(
    command: list[str], folder: Path, timeout: float = PATIENCE, said: str | None = None
) -> subprocess.CompletedProcess[str]:
    return forks.run(command, cwd=ROOT, env=environment(folder), said=said, timeout=timeout)


# The kernel's figure for a child includes what its parent had when it started the child.
_WATCHED = """
import atexit, runpy, sys
sys.argv = sys.argv[1:]
status = open("/proc/self/status")
def tell():
    status.seek(0)
    peak = next(line for line in status if line.startswith("VmHWM:"))
    print(int(peak.split()[1]) // 1024)
atexit.register(tell)
runpy.run_path("manage.py", run_name="__main__")
"""


def manage_measured(folder: Path, *arguments: object) -> tuple[int, str, int]:
    """Run a command; return its exit status, its error output, and its peak memory in MiB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not say how much memory a process had")
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, *_command(arguments)[1:]],
        cwd=ROOT, env=environment(folder), capture_output=True, text=True, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    return done.returncode, done.stderr, int(done.stdout.split()[-1])


def _command(arguments: Iterable[object]) -> list[str]:
    return [sys.executable, "manage.py", *map(str, arguments)]
