"""What a table of a study file names: other tables, and files of options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from analysis.evaluation.selection import read_pairs
from analysis.study.keys import Options, Refuse, keys_of, list_values
from tandem.scores.answers.refusals import FILE
from tandem.scores.options import PRESETS, TableOptions


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
