"""The definition of an example study, and the README that each writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Files = Mapping[str, str]
"""The files of a study's folder: their text by path."""


@dataclass(frozen=True)
class ExampleStudy:
    """A study like a paper's, on made-up data.

    `build` returns the folder's files for a study name, including `study.toml`. `own` has the
    README's lines on which files to replace by one's own. `results` are the words of the command
    that prints the study's results, in which `{study}` is its name, and `prints` says what it does.
    """

    name: str
    title: str
    build: Callable[[str], dict[str, str]]
    own: tuple[str, ...]
    results: tuple[str, ...] = ()
    prints: str = "fills the paper's tables"

    def results_of(self, study: str) -> list[str]:
        """Return the words of the command that prints the results of a study of this name."""
        words = self.results or ("paper", self.name, "--study", "{study}")
        return [word.format(study=study) for word in words]


def readme(example: ExampleStudy, study: str) -> str:
    """Return the README of a folder: how to run the study, and how to use one's own data."""
    command = " ".join(example.results_of(study))
    lines = [
        f"# {study}: a study as in {example.title}",
        "",
        "All texts and labels here are made up, and judges are fakes that replay a file.",
        "`tandem study plan` says what would be done, `tandem study apply` does it, and",
        f"`tandem study status` shows the chain. `tandem study freeze --output {study}-release`",
        "writes what you would publish, and `tandem verify` checks it. On the site the study is",
        f"under *Studies*. `tandem {command}` {example.prints}.",
        "",
        "Your own data, under new names of batches and campaigns, since what has labels stays:",
        "",
        *(f"{number}. {line}" for number, line in enumerate(example.own, start=1)),
    ]
    return "\n".join(lines) + "\n"
