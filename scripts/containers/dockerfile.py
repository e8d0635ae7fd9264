"""Parse the instructions of our Dockerfile. An unknown instruction is an error."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

KNOWN = (
    *("FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "LABEL", "EXPOSE", "VOLUME"),
    *("STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
_FLAG = re.compile(r"--([a-z-]+)(?:=(\S+))?\s+")


class DockerfileError(Exception):
    """A step that cannot be parsed or carried out; one line says where and why."""


@dataclass(frozen=True)
class Instruction:
    """An instruction with its continuation lines joined; `line` is its first line, from 1."""

    line: int
    name: str
    text: str

    @property
    def flags(self) -> dict[str, str]:
        return self._parted[0]

    @property
    def rest(self) -> str:
        return self._parted[1]

    @property
    def _parted(self) -> tuple[dict[str, str], str]:
        flags, rest = {}, self.text
        while found := _FLAG.match(rest):
            flags[found[1]] = found[2] or ""
            rest = rest[found.end() :]
        return flags, rest

    def arguments(self) -> list[str]:
        """Return the exec form of a command. Raises DockerfileError for the shell form."""
        try:
            words = json.loads(self.rest)
        except json.JSONDecodeError:
            words = None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise DockerfileError(
                f"line {self.line}: {self.name} is not a JSON list; without a shell in between "
                "signals reach the process"
            )
        return words

    def __str__(self) -> str:
        return f"line {self.line}: {self.name} {' '.join(self.text.split())}"


@dataclass
class Stage:
    """The instructions between one FROM and the next."""

    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def sources(self) -> set[str]:
        """Return the stages or images that the stage copies from."""
        froms = (each.flags.get("from") for each in self.instructions if each.name == "COPY")
        return {each for each in froms if each}

    def all(self, *names: str) -> list[Instruction]:
        return [each for each in self.instructions if each.name in names]


def instructions(text: str) -> Iterator[Instruction]:
    """Return the instructions in order. Raises DockerfileError for an unknown one."""
    begun, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        # Comments do not end an instruction, not even between its lines.
        if line.lstrip().startswith("#") or not (line.strip() or parts):
            continue
        begun = begun or number
        parts.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            yield _instruction(begun, "".join(parts))
            begun, parts = 0, []
    if parts:
        raise DockerfileError(f"line {begun}: the instruction is not ended; take the last \\ away")


def _instruction(line: int, text: str) -> Instruction:
    name, _, rest = text.strip().partition(" ")
    if name.upper() not in KNOWN or "<<" in rest:
        raise DockerfileError(f"line {line}: {name} is nothing that this script can carry out")
    return Instruction(line, name.upper(), rest.strip())


def stages(text: str) -> dict[str, Stage]:
    """Return the named stages in order, with the ARGs before the first FROM filled in."""
    found: dict[str, Stage] = {}
    arguments: dict[str, str] = {}
    for each in instructions(text):
        if each.name == "FROM":
            base, _, name = expand(each.rest, arguments).partition(" AS ")
            found[name or str(len(found))] = Stage(name or str(len(found)), base)
        elif found:
            list(found.values())[-1].instructions.append(each)
        elif each.name == "ARG":
            arguments |= parse_pairs(each.rest, arguments)
        else:
            raise DockerfileError(f"line {each.line}: {each.name} stands before the first FROM")
    return found


def needed_stages(found: Mapping[str, Stage], target: str) -> list[Stage]:
    """Return the stages that a target is built from, itself last."""
    if target not in found:
        raise DockerfileError(f"no stage is called {target}; there are {', '.join(found)}")
    names = {target}
    for stage in reversed(list(found.values())):
        if stage.name in names:
            names |= stage.sources() | {stage.base}
    return [stage for stage in found.values() if stage.name in names]


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace $NAME, ${NAME} and ${NAME:-default}; a variable that is not set is empty."""
    return _VARIABLE.sub(lambda m: variables.get(m[1] or m[2]) or m[3] or "", text)


def parse_pairs(text: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return NAME=value pairs, expanded with the variables as they were before the instruction."""
    words = shlex.split(text.replace("\n", " "))
    return {n: expand(value, variables) for n, _, value in (w.partition("=") for w in words)}
