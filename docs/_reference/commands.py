"""Reference page of the commands, from their parsers."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterator
from functools import cache

from django.apps import apps
from django.core.management import BaseCommand, get_commands, load_command_class

from annotation.campaigns.design import Design
from docs._reference.words import ROOT, code, codes, meaning, page, plain, table
from judging.params import PARAMS
from tandem.options import options_of
from tandem.verbs import BY_COMMAND

OPENING = """\
For everyone who works at a terminal: every command of Tandem with every option, as the code
defines them.

`make install` puts the program at `.venv/bin/tandem`; `alias tandem=.venv/bin/tandem` saves
typing, and `python -m tandem` is the same. `tandem --help` shows the tree of verbs. Each verb is
also a command of `manage.py`, whose name is the heading here and does not change:
`.venv/bin/python manage.py load_batch` does the same as `tandem batch load`. So does
`tandem load_batch`.

Bad input is refused in one line, `FILE, line N: what is wrong; what to do`, and nothing is stored.
Each verb also has `--help`, and Django's own options (`--settings`, `--traceback`, `--verbosity`
and so on), which are left out here. The program adds to all of them:

| option or status | meaning |
| --- | --- |
| `NAME` | a campaign, judge or batch named alone, before all options: `tandem measures NAME` |
| `FILE` | `tandem report FILE` reports on labels files without a site, a database or settings |
| `--json` | one JSON object instead of lines: the result, or `status`, `lines` and `error` |
| `--quiet` | no progress and no remarks |
| exit status 0 | all went well |
| exit status 1 | refused: what was given, or what is stored, does not allow it |
| exit status 2 | not understood; an unknown word is answered by the one that was meant |
| exit status 3 | a check found a difference, or `judge run` was interrupted; 1 from `manage.py` |

Verbs, options and names are completed after `eval "$(tandem completion bash)"`; `zsh` and `fish`
are known, too.
"""


@cache
def ours() -> dict[str, BaseCommand]:
    """Return the commands of this repository's apps, by name."""
    here = {a.name for a in apps.get_app_configs() if ROOT.joinpath(*a.name.split(".")).is_dir()}
    found = {name: app for name, app in sorted(get_commands().items()) if app in here}
    return {name: load_command_class(app, name) for name, app in found.items()}


def parser_of(name: str, command: BaseCommand) -> ArgumentParser:
    return command.create_parser("manage.py", name)


@cache
def _djangos_own() -> frozenset[str]:
    return frozenset(action.dest for action in BaseCommand().create_parser("", "")._actions)


def arguments(name: str, command: BaseCommand) -> list[Action]:
    """Return a command's own arguments and options."""
    actions = parser_of(name, command)._actions
    return [a for a in actions if a.dest not in _djangos_own() and a.help != SUPPRESS]


def write() -> str:
    return page("Commands", OPENING, *(_section(*each) for each in ours().items()))


def _section(name: str, command: BaseCommand) -> str:
    rows = [_row(name, action) for action in arguments(name, command)]
    usage = " ".join(_usage(name, command))
    parts = [f"## {name}", command.help, f"```\ntandem {usage}\n```"]
    if rows:
        parts.append(table(("argument", "meaning", "default"), rows))
    return "\n\n".join([*parts, *_pairs(name)])


def _pairs(name: str) -> Iterator[str]:
    """Describe the possible K and V of K=V."""
    if name == "create_campaign":
        rows = [(code(option.name), option.help) for option in options_of(Design)]
        yield "Options, given as `--option K=V`:"
        yield table(("option", "meaning"), rows)
    if name == "create_judge":
        rows = [(code(each.name), each.help) for each in PARAMS.values()]
        yield "Parameters, given as `--param K=V`:"
        yield table(("parameter", "value"), rows)


def _usage(name: str, command: BaseCommand) -> Iterator[str]:
    parser = parser_of(name, command)
    verb = BY_COMMAND.get(name)
    yield verb.name if verb else name
    for group in parser._mutually_exclusive_groups:
        if group.required:
            yield f"({' | '.join(map(_shown, group._group_actions))})"
    for action in parser._actions:
        if action.required and action.dest not in _djangos_own():
            yield _shown(action)
    yield "[options]"


def _shown(action: Action) -> str:
    value = "" if action.nargs == 0 else _value(action)
    return " ".join(part for part in (*action.option_strings[-1:], value) if part)


def _value(action: Action) -> str:
    many = "…" if action.nargs in ("+", "*") else ""
    if isinstance(action.metavar, str):
        return action.metavar + many
    return action.dest.upper().replace("_", "-") + many


def _row(name: str, action: Action) -> tuple[str, str, str]:
    words = plain(action.help or meaning("options", f"{name}.{action.dest}", action.dest))
    words += f": {codes(action.choices)}" if action.choices else ""
    again = " (may be given several times)" if type(action).__name__ == "_AppendAction" else ""
    return code(_shown(action)), words + again, _default(action)


def _default(action: Action) -> str:
    if action.required:
        return "required"
    unset = action.default in (None, "", [], False)
    return "" if unset or not action.option_strings else code(action.default)
