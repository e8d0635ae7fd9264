"""Shell completion: verbs at once, and options and names of a verb with its command."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from typing import Any

import argcomplete

from tandem.verbs import BY_WORDS, COMPLETION, PROCESSES, SHELLS, Verb, first_words, verbs_of

NAMES = {
    "--campaign": "annotation.Campaign",
    "--batch": "datasets.Batch",
    "--judge": "judging.Judge",
}
"""The models whose names complete an option."""


def shell_code(shell: str) -> str:
    """Return the code that a shell evaluates to complete `tandem`."""
    code: str = argcomplete.shellcode(["tandem"], shell=shell)
    return code


def complete() -> int:
    """Answer a shell that asks for completions, and end the process."""
    words = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))].split()[1:]
    argcomplete.autocomplete(tree(words), always_complete_options="long")
    return 0


def tree(words: list[str]) -> ArgumentParser:
    """Return the tree of verbs as a parser, with options only for the verb among `words`."""
    parser = ArgumentParser("tandem")
    nouns: Any = parser.add_subparsers()
    for first in first_words():
        if first == COMPLETION:
            nouns.add_parser(first).add_argument("shell", choices=SHELLS)
        elif first in PROCESSES:
            nouns.add_parser(first)
        elif (verb := BY_WORDS.get((first,))) is not None:
            _add(nouns, verb, words)
        else:
            of_noun: Any = nouns.add_parser(first).add_subparsers()
            for verb in verbs_of(first):
                _add(of_noun, verb, words)
    return parser


def _add(parsers: Any, verb: Verb, words: list[str]) -> None:
    if tuple(words[: len(verb.words)]) != verb.words:
        parsers.add_parser(verb.words[-1], help=verb.help)
        return
    from tandem.program.site import parser_of, start

    start()
    _, of_command = parser_of(verb)
    made = parsers.add_parser(verb.words[-1], help=verb.help, parents=[of_command], add_help=False)
    for action in made._actions:
        for option in action.option_strings:
            if option in NAMES:
                action.completer = _names(NAMES[option])
    if verb.subject in NAMES:
        subject: Any = made.add_argument("subject", nargs="?")
        subject.completer = _names(NAMES[verb.subject])


def _names(model: str) -> Callable[..., Iterable[str]]:
    """Return a completer of stored names; it has none if the database is unavailable."""

    def names(prefix: str, **_: Any) -> list[str]:
        from django.apps import apps
        from django.db import DatabaseError

        column = "rater__name" if model == "judging.Judge" else "name"
        stored = apps.get_model(model)._default_manager
        try:
            found = stored.filter(**{f"{column}__startswith": prefix})
            return [str(name) for name in found.values_list(column, flat=True)[:100]]
        except DatabaseError:
            return []

    return names
