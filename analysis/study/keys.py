"""The keys of a study file's tables: the options of commands, files, and other tables' names.

A table is read by its command's parser, so a new option of a command is also a key in files. `K=V`
options of a command are tables in the file, or lists of `K=V`.
"""

from __future__ import annotations

from argparse import Action, _StoreTrueAction
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from analysis.evaluation.selection import read_pairs
from analysis.study.plans import options_of_plan
from tandem.scores.answers.refusals import FILE
from tandem.scores.options import PRESETS, TableOptions
from tandem.similar import did_you_mean

Options = dict[str, Any]
Refuse = Callable[[str, str, str], NoReturn]
"""Raises the error about a key, with the problem and its remedy."""

STORE_NOTHING = ("queue", "stop", "cancel", "estimate", "batch_file", "offline")
LEFT_OUT = {
    "load_batch": ("name",),
    "derive_batch": ("name", "dry_run", "output"),
    "build_batch": ("name", "output"),
    "create_campaign": ("name", "dry_run", "people", "assume"),
    "create_judge": ("name", "check"),
    "import_labels": ("campaign",),
    "run_judge": ("campaign", *STORE_NOTHING),
    "prepare_batch": STORE_NOTHING,
    "review_batch": ("step", "batch", "judge", "export", "accept", "keep"),
}
"""Options without meaning in a file: the table's own name, and options that store nothing."""
RENAMED = {
    ("load_batch", "paths"): "files",
    ("import_labels", "paths"): "file",
    ("review_batch", "import"): "file",
}
"""The keys for files, most of which are positional arguments without an option name."""


@cache
def _actions(command: str) -> list[Action]:
    own = {action.dest for action in BaseCommand().create_parser("", "")._actions}
    made: Any = load_command_class(get_commands()[command], command)
    parser = made.create_parser("tandem", command)
    return [action for action in parser._actions if action.dest not in own]


def _defaults(command: str) -> Options:
    return {action.dest: action.default for action in _actions(command)}


@cache
def keys_of(command: str) -> dict[str, Action]:
    """Return the keys that a command defines for a table, each with its option."""
    found = {}
    # The commands of plans do more than to commit to one.
    only = options_of_plan(command)
    for action in _actions(command):
        if action.dest in LEFT_OUT.get(command, ()) or (only and action.dest not in only):
            continue
        words = [word.lstrip("-").replace("-", "_") for word in action.option_strings]
        key = RENAMED.get((command, action.dest)) or (words[-1] if words else action.dest)
        found[key] = action
    return found


def read_options(
    command: str, table: Mapping[str, Any], refuse: Refuse, name: str | None = None
) -> Options:
    """Return the options of a command as its parser would, including defaults.

    `name` is the name of the object that the command creates, from the table's heading. Calls
    `refuse` for an invalid value or a missing key. Keys that do not belong to the command have to
    be removed before.
    """
    keys = keys_of(command)
    options = _defaults(command) | ({} if name is None else {"name": name})
    for key, action in keys.items():
        if key in table:
            options[action.dest] = _value(action, key, table[key], refuse)
        elif action.required and action.nargs not in ("*", "?"):
            refuse(key, f"{key} is missing", f"add {key} = …")
    return options


def check_keys(table: Mapping[str, Any], known: Iterable[str], refuse: Refuse) -> None:
    """Call `refuse` for the first key that is not known."""
    names = list(known)
    for key in table:
        if key not in names:
            remedy = did_you_mean(key, names, f"keys are {', '.join(names)}")
            refuse(key, f"{key!r} is not a key of this table", remedy)


def _value(action: Action, key: str, given: Any, refuse: Refuse) -> Any:
    if isinstance(action, _StoreTrueAction):
        if not isinstance(given, bool):
            refuse(key, f"{key} is neither true nor false", "write true or false")
        return given
    if _takes_several(action):
        values = list_values(given, _quoted if key == "option" else str)
        if values is None:
            refuse(key, f"{key} is not a list", f'write {key} = ["…"]')
        return [_read_single(action, key, each, refuse) for each in values]
    return _read_single(action, key, given, refuse)


def _takes_several(action: Action) -> bool:
    return action.nargs in ("+", "*") or isinstance(action.default, list)


def list_values(given: Any, word: Callable[[str], str]) -> list[Any] | None:
    """Return the words for a table or a list. Elements of inner lists are quoted by `word`."""
    if isinstance(given, Mapping):
        return [
            f"{name}={','.join(word(_text(each)) for each in value)}"
            if isinstance(value, list)
            else f"{name}={_text(value)}"
            for name, value in given.items()
        ]
    return given if isinstance(given, list) else None


def _read_single(action: Action, key: str, given: Any, refuse: Refuse) -> Any:
    if isinstance(given, (list, Mapping)):
        refuse(key, f"{key} takes one value, and here are several", f"write {key} = …")
    expected = action.type
    if expected in (int, float) and (
        isinstance(given, (bool, str)) or (expected is int and not isinstance(given, int))
    ):
        what = "a whole number" if expected is int else "a number"
        refuse(key, f"{key} is {given!r}", f"write {what}")
    if expected in (None, str, Path) and not isinstance(given, str) and action.choices is None:
        # A TOML date is used as text.
        given = _text(given)
    try:
        value = expected(_text(given)) if callable(expected) else given
    except (ValueError, TypeError):
        refuse(key, f"{key} is {given!r}, which the command does not take", "correct it")
    if action.choices is not None and value not in action.choices:
        choices = list(map(str, action.choices))
        remedy = did_you_mean(str(value), choices, f"give one of {', '.join(choices)}")
        refuse(key, f"{key} is {value!r}", remedy)
    return value


def _quoted(word: str) -> str:
    """Quote a word for a comma-separated list, as in CSV."""
    return '"{}"'.format(word.replace('"', '""')) if "," in word or '"' in word else word


def _text(value: Any) -> str:
    """Format a TOML value like on a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(_text, value))
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_text(each)}" for name, each in value.items())
    return str(value)


def table_options(
    given: Any, preset: str, refuse: Refuse, find: Callable[[str, str], Path]
) -> dict[str, str]:
    """Return the options of the papers' tables as text, with the absolute paths of files.

    `find` looks a file of a key up. Calls `refuse` for an invalid option.
    """
    values = list_values(given, str)
    if values is None:
        refuse("option", "option is not a table", "write option = { eta = 5 }")
    try:
        pairs = read_pairs(map(str, values))
        for name, text in pairs.items():
            if text.startswith(FILE):
                path = find("option", text.removeprefix(FILE))
                pairs[name] = f"{FILE}{path.absolute()}"
        TableOptions.of(preset if preset in PRESETS else "tandem").changed(pairs)
    except ValueError as error:
        refuse("option", f"option: {error}", "correct it")
    return pairs


def campaigns_of(command: str, options: Options) -> list[str]:
    """Return the campaigns from which a batch is derived; none for a loaded batch."""
    if command != "derive_batch":
        return []
    return list(options[keys_of(command)["from"].dest] or ())


def campaigns_named(options: Options) -> Iterator[str]:
    """Yield the distinct campaigns named in a campaign's options."""
    pairs = _pairs(options)
    named = (
        pairs.get("prerequisite"),
        *relevant_by(options),
        pairs.get("validates", "").partition("@")[2],
        options.get("practice_of"),
        options.get("continues"),
    )
    yield from dict.fromkeys(name for name in named if name)


def relevant_by(options: Options) -> list[str]:
    """Return the campaign whose labels decide which passages are shown, if there is one."""
    name = _pairs(options).get("passages", "").partition(":")[2]
    return [name] if name else []


def _pairs(options: Options) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in options["option"])
