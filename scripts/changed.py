"""`python -m scripts.changed [--since REF] -- COMMAND…`: run a command with the tests of a change.

A change consists of the files that differ from a commit, and of untracked files. Each product
folder has its folders of tests, and a test module that changed is run itself. If nothing has
changed since HEAD, the last commit is the change.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The longest prefix of a path decides which folders of `tests` belong to it.
TOUCHED: dict[str, tuple[str, ...]] = {
    "README.md": ("docs",),
    "analysis/": ("analysis",),
    "tandem/scores/": ("scores",),
    "tandem/statistics/": ("statistics",),
    "annotation/": ("annotation",),
    "annotation/adjudication/": ("annotation/adjudication",),
    "annotation/api/": ("api",),
    "annotation/people/": ("annotation/people",),
    "annotation/preparation/": ("annotation/preparation",),
    "annotation/audit_log.py": ("audit",),
    "audit/": ("audit",),
    "benchmarks/": ("benchmarks",),
    "config/": ("security", "test_settings.py"),
    "datasets/": ("datasets", "contract"),
    "datasets/api/": ("api",),
    "docs/": ("docs",),
    "judging/": ("judging",),
    "judging/api/": ("api", "judging"),
    "judging/preparation/": ("annotation/preparation",),
    "scripts/": ("scripts",),
    "tandem/": ("program",),
    "tandem/crosscheck/": ("analysis/crosscheck",),
    "tandem/figures/": ("analysis/figures",),
    "tandem/files/": ("datasets",),
    "tandem/formats/": ("analysis/formats",),
    "tandem/labels/": ("analysis", "annotation/imports"),
    "tandem/protocols/": ("annotation/protocols", "annotation/answers"),
    "tandem/sections/": ("analysis/report", "analysis/formats"),
    "static/": ("docs", "security/test_proxies_and_sessions.py"),
    "templates/": ("annotation", "docs"),
}
ALWAYS = ("docs/test_architecture.py", "test_layout.py")
# These start processes or browsers, which takes too long between two changes.
SLOW = "not browser and not processes"


def changed_paths(since: str) -> list[str]:
    """Return the paths that differ from a commit; if none do, those changed by the last commit."""
    new = _git("ls-files", "--others", "--exclude-standard")
    found = _git("diff", "--name-only", since) + new
    return found or _git("diff", "--name-only", "HEAD~1", "HEAD")


def covering_tests(paths: Iterable[str]) -> list[str]:
    """Return the folders and modules of `tests` that belong to a change."""
    found = {f"tests/{name}" for name in ALWAYS}
    for path in paths:
        if path.startswith("tests/"):
            found.add(_own_tests(path))
        else:
            longest = max((each for each in TOUCHED if path.startswith(each)), key=len, default="")
            found |= {f"tests/{name}" for name in TOUCHED.get(longest, ())}
    there = sorted(path for path in found if (ROOT / path).exists())
    return [path for path in there if not {str(each) for each in Path(path).parents} & set(there)]


def _own_tests(path: str) -> str:
    """Return a test module itself, or the folder of a helper module, whose tests share it."""
    name = Path(path)
    is_test = name.name.startswith("test_") and name.suffix == ".py"
    if is_test or len(name.parts) < 3:
        return path if is_test else ""
    return str(name.parent)


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.changed", description=__doc__)
    parser.add_argument("--since", default="HEAD", help="the commit to compare with")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    options = parser.parse_args(arguments)
    tests = covering_tests(changed_paths(options.since))
    print("Tests of the change:", " ".join(tests), flush=True)
    return subprocess.run([*options.command, "-m", SLOW, *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
