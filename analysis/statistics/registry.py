"""What each statistic is, in a line, with its source: documentation is made from this."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Statistic:
    """A public statistic: the function's name, what it says in one line, where it comes from."""

    name: str
    summary: str
    citation: str


_DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

#: Name -> declaration, in the order of the documentation.
STATISTICS = {name: Statistic(name, **declared) for name, declared in _DECLARED.items()}
