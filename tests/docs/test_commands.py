"""Everything that readers may copy exists: commands, options, targets, files, pages."""

from __future__ import annotations

import re
import shlex

import pytest
from django.core.management import CommandError, get_commands, load_command_class
from django.core.management.base import CommandParser

from tandem.verbs import BY_WORDS, WITHOUT_COMMAND
from tests.cast import ROOT
from tests.docs.markdown import inline, shell_lines, written

OURS = re.compile(r"(?:^(?:\.venv/bin/)?tandem |(?=manage\.py [a-z]))(?P<rest>[a-z_.]+\b.*)")
DJANGO = "manage.py"
DATA = "--data"
PROGRAM = (DATA, "--json", "--quiet")  # options that every verb of the program also has
MAKE = re.compile(r"(?:^|-- |&& )make (?P<target>[a-z-]+)")
MODULE = re.compile(r"-m (?P<module>scripts\.[a-z.]+)")
PLACE = re.compile(
    r"(?:analysis|annotation|audit|config|datasets|docs|judging|scripts|tandem|tests)/[\w./-]*"
)
MADE_UP = ("annotation/protocols/clarity", "tandem/protocols/clarity")
PAGES = sorted(written())


def parser_of(name: str) -> CommandParser:
    command = load_command_class(get_commands()[name], name)
    return command.create_parser("manage.py", name)


def copied() -> list[tuple[str, str]]:
    """Page and arguments of every command line of ours in a code block."""
    found = [(page, OURS.search(line)) for page, line in shell_lines()]
    return [(page, match["rest"]) for page, match in found if match]


def in_sentences() -> list[tuple[str, str]]:
    found = [(page, OURS.search(code)) for page in PAGES for code in inline(written()[page])]
    return [(page, match["rest"]) for page, match in found if match]


def command_and_arguments(line: str) -> tuple[str, list[str]]:
    """Return the command that a line names, directly or as a verb, and its arguments."""
    words = shlex.split(line, comments=True)
    words = words[: words.index(">")] if ">" in words else words
    if DATA in words:  # the program's own, which it takes before the command does
        del words[words.index(DATA) : words.index(DATA) + 2]
    if words[0] == DJANGO:
        return words[1], words[2:]
    for length in (2, 1):
        if verb := BY_WORDS.get(tuple(words[:length])):
            rest = words[length:]
            alone = verb.subject and rest and not rest[0].startswith("-")
            return verb.command, [verb.subject, *rest] if alone else rest
    return words[0], words[1:]


def misunderstood(line: str) -> Exception | None:
    """The reason why a command line of ours would be refused."""
    name, arguments = command_and_arguments(line)
    if name in WITHOUT_COMMAND:
        return None
    try:
        parser_of(name).parse_args(arguments)
    except (KeyError, CommandError) as error:
        return error
    return None


def test_commands_on_the_pages_are_found() -> None:
    assert len(copied()) > 40
    assert {command_and_arguments(rest)[0] for _, rest in copied()} >= {
        "load_batch",
        "run_judge",
        "export",
    }
    assert len(in_sentences()) > 5


def test_unknown_commands_and_options_are_detected() -> None:
    assert isinstance(misunderstood("no_such_command --queue"), KeyError)
    assert isinstance(misunderstood("run_judge --campaign c --no-such-option"), CommandError)


@pytest.mark.parametrize(("page", "line"), copied())
def test_every_documented_command_line_is_accepted_by_its_command(page: str, line: str) -> None:
    assert misunderstood(line) is None, f"{page}: {line}"


@pytest.mark.parametrize(("page", "code"), in_sentences())
def test_a_command_named_in_a_sentence_has_the_options_named_with_it(page: str, code: str) -> None:
    name, arguments = command_and_arguments(code)
    if name in WITHOUT_COMMAND:
        return
    known = {*PROGRAM} | {o for action in parser_of(name)._actions for o in action.option_strings}
    assert not [a for a in arguments if a.startswith("--") and a.partition("=")[0] not in known]


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    lines = [line for _, line in shell_lines()]
    lines += [code for page in PAGES for code in inline(written()[page])]
    named = {match["target"] for line in lines for match in MAKE.finditer(line)}
    assert {"demo", "test", "serve", "install"} <= named <= targets


def test_every_script_exists() -> None:
    named = {m["module"] for _, line in shell_lines() for m in MODULE.finditer(line)}
    assert named
    for module in named:
        place = ROOT / module.replace(".", "/")
        assert (place / "__main__.py").is_file() or place.with_suffix(".py").is_file()


@pytest.mark.every_case
@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    named = [code for code in inline(written()[page]) if PLACE.fullmatch(code)]
    missing = [n for n in named if not n.startswith(MADE_UP) and not (ROOT / n).exists()]
    # A test module may be named without its extension.
    assert not [name for name in missing if not (ROOT / f"{name}.py").exists()]
