"""The mutants of the code, and a seeded sample with equally many from each stratum."""

from __future__ import annotations

import ast
import difflib
import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from scripts.mutants.operators import Edit, optional_names
from scripts.mutants.statements import edits
from scripts.mutants.strata import STRATA, files

PRODUCT = ("analysis", "annotation", "audit", "config", "datasets", "judging", "tandem")


@dataclass(frozen=True)
class Mutant:
    """An edit of a file. Its id depends on what it changes, and not on the line number."""

    id: str
    stratum: str
    path: str
    edit: Edit
    source: str = field(repr=False)

    @cached_property
    def mutated(self) -> str:
        code = self.source.encode()
        return (code[: self.edit.start] + self.edit.text.encode() + code[self.edit.end :]).decode()

    @property
    def line(self) -> int:
        return self.edit.lines[0]

    @cached_property
    def changed(self) -> tuple[str, str]:
        """Return the lines that differ, before and after, without indentation."""
        return changed_lines(self.source, self.mutated)

    def diff(self) -> str:
        names = (f"a/{self.path}", f"b/{self.path}")
        old, new = self.source.splitlines(keepends=True), self.mutated.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, *names))

    def __str__(self) -> str:
        before, after = self.changed
        what = f"{self.id} {self.path}:{self.line} {self.edit.function} ({self.edit.operator})"
        return f"{what}\n    - {before}\n    + {after}"


def changed_lines(before: str, after: str) -> tuple[str, str]:
    old, new = before.splitlines(), after.splitlines()
    first = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    last = 0
    while old[len(old) - 1 - last] == new[len(new) - 1 - last] and last < min(len(old), len(new)):
        last += 1
    here, there = old[first : len(old) - last], new[first : len(new) - last]
    return " ".join(map(str.strip, here)), " ".join(map(str.strip, there))


def sources(root: Path) -> dict[str, str]:
    """Return the product's modules by path, without migrations."""
    found = (path for app in PRODUCT for path in (root / app).rglob("*.py"))
    ours = (path for path in found if "migrations" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(ours)}


def population(
    root: Path, stratum: str, texts: Mapping[str, str], may_be_left_out: Mapping[str, set[str]]
) -> list[Mutant]:
    """Return all mutants of a stratum in a stable order; a few may not compile.

    `may_be_left_out` names the arguments that calls may omit.
    """
    made: list[Mutant] = []
    again: Counter[str] = Counter()
    for path in files(root, stratum):
        code, lines = texts[path].encode(), texts[path].split("\n")
        for edit in edits(texts[path], may_be_left_out):
            line = lines[edit.lines[0] - 1].strip()
            piece = code[edit.start : edit.end].decode()
            parts = (path, edit.function, edit.operator, line, piece, edit.text)
            again["\0".join(parts)] += 1
            name = "\0".join((*parts, str(again["\0".join(parts)])))
            made.append(Mutant(_hash(name), stratum, path, edit, texts[path]))
    return made


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def sample(root: Path, seed: int, count: int, only: Sequence[str] = ()) -> list[Mutant]:
    """Return `count` mutants, equally many of each stratum; the first strata get any remainder."""
    texts = sources(root)
    spare = optional_names(texts.values())
    share, more = divmod(count, len(STRATA))
    drawn: list[Mutant] = []
    for number, stratum in enumerate(STRATA):
        if not only or stratum in only:
            drawn += _draw(population(root, stratum, texts, spare), seed, share + (number < more))
    return drawn


def all_mutants(root: Path, paths: Sequence[str]) -> list[Mutant]:
    """Return all mutants of files of the strata, in the order of their lines."""
    texts = sources(root)
    spare = optional_names(texts.values())
    strata = [stratum for stratum in STRATA if set(paths) & set(files(root, stratum))]
    found = [each for stratum in strata for each in population(root, stratum, texts, spare)]
    ours = [each for each in found if each.path in paths]
    return _draw(sorted(ours, key=lambda each: each.path), 0, len(ours))


def _draw(everything: list[Mutant], seed: int, count: int) -> list[Mutant]:
    if not everything:
        return []
    order = random.Random(f"{seed} {everything[0].stratum}")
    shuffled = order.sample(everything, len(everything))
    chosen: dict[tuple[str, str], Mutant] = {}
    for mutant in shuffled:
        if len(chosen) == count:
            break
        if _is_another_program(mutant):
            chosen.setdefault((mutant.path, mutant.mutated), mutant)
    return sorted(chosen.values(), key=lambda mutant: (mutant.path, mutant.edit.start, mutant.id))


def _is_another_program(mutant: Mutant) -> bool:
    try:
        mutated = ast.parse(mutant.mutated)
    except SyntaxError:
        return False
    return ast.dump(mutated) != ast.dump(ast.parse(mutant.source))


def find(root: Path, name: str) -> Mutant | None:
    """Return the mutant with this id."""
    texts = sources(root)
    spare = optional_names(texts.values())
    each = (mutant for stratum in STRATA for mutant in population(root, stratum, texts, spare))
    return next((mutant for mutant in each if mutant.id == name), None)
