"""The reference pages cover everything in the code, and describe nothing that does not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.management import get_commands, load_command_class

import tandem.statistics as library
from annotation.exports.bundles import BUNDLES
from annotation.exports.contents import EXPORTS
from annotation.protocols import PROTOCOLS
from config.env import VARIABLES
from datasets.readers import READERS
from docs._reference import api, commands, formats, reports, settings, words
from docs._reference.pages import navigation, pages
from judging.params import PARAMS
from tandem.labels.file import rows as label_rows
from tandem.statistics import STATISTICS
from tests.cast import ROOT

OURS = ("analysis", "annotation", "audit", "datasets", "judging", "config")
CONTRACT = ROOT / "tests" / "contract" / "report.json"


class Recording(dict[str, str]):
    """A mapping that records which of its words were looked up."""

    def __init__(self, held: dict[str, str]) -> None:
        super().__init__(held)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked |= {name} & set(self)
        return super().get(name, default)


@pytest.fixture(scope="module")
def recorded() -> dict[str, Recording]:
    return {part: Recording(held) for part, held in words._meanings().items()}


@pytest.fixture(scope="module")
def texts(recorded: dict[str, Recording]) -> dict[str, str]:
    """The pages, written only once, since this takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_meanings", lambda: recorded)
        return {path.removeprefix("reference/"): write() for path, write in pages().items()}


def section(text: str, heading: str) -> str:
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def our_commands() -> list[str]:
    """Our commands, found by their files, independently of the pages."""
    files = ROOT.glob("*/management/commands/*.py")
    return sorted(file.stem for file in files if file.stem != "__init__")


def test_the_commands_are_found() -> None:
    assert {"load_batch", "create_campaign", "run_judge", "report", "demo"} <= set(our_commands())


@pytest.mark.parametrize("name", our_commands())
def test_every_command_has_an_entry_with_all_its_options(texts: dict[str, str], name: str) -> None:
    command = load_command_class(get_commands()[name], name)
    entry = section(texts["commands.md"], name)
    assert command.help in entry
    common = {
        o for a in commands.BaseCommand().create_parser("", "")._actions for o in a.option_strings
    }
    own = [a.option_strings for a in command.create_parser("", name)._actions if a.option_strings]
    missing = [names for names in own if not any(f"`{each}" in entry for each in names)]
    assert not [names for names in missing if common.isdisjoint(names)]


def test_the_page_lists_no_other_commands(texts: dict[str, str]) -> None:
    assert list(commands.ours()) == our_commands()


def test_a_required_argument_appears_in_the_usage(texts: dict[str, str]) -> None:
    usage = "tandem campaign create NAME --protocol PROTOCOL --batch BATCH [options]"
    assert usage in section(texts["commands.md"], "create_campaign")
    assert "tandem report (--campaign CAMPAIGN | --labels PATH…)" in texts["commands.md"]


@pytest.mark.parametrize("name", PARAMS)
def test_every_parameter_of_a_judge_is_listed(texts: dict[str, str], name: str) -> None:
    assert f"| `{name}` |" in section(texts["commands.md"], "create_judge")


@pytest.mark.parametrize("name", VARIABLES)
def test_every_setting_has_an_entry(texts: dict[str, str], name: str) -> None:
    assert f"| `{name}` |" in texts["settings.md"]


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda p: p.name)
def test_every_protocol_has_a_page(texts: dict[str, str], protocol: Any) -> None:
    page = texts[f"protocols/{protocol.name}.md"]
    assert page.startswith(f"# {protocol.title}\n")
    for variable in protocol.variables:
        assert f"`{variable.name}`" in page
        assert all(f"`{code}`" in page for code in variable.answers)
    kept = [line for line in protocol.guideline.splitlines() if line and line[0] != "#"]
    assert all(line in page for line in kept)
    assert all(line in page for line in protocol.prompt.splitlines() if line)
    assert f"({protocol.name}.md)" in texts["protocols/index.md"]


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_has_an_entry(texts: dict[str, str], name: str) -> None:
    entry = section(texts["statistics.md"], name)
    assert words.plain(STATISTICS[name].summary) in entry
    assert words.plain(STATISTICS[name].citation) in entry
    assert words.plain(getattr(library, name).__doc__) in entry


@pytest.mark.parametrize("part", formats.PARTS, ids=lambda part: part.__name__)
def test_every_key_of_a_batch_is_listed(texts: dict[str, str], part: type) -> None:
    entry = section(texts["formats.md"], "The batch file").partition(f"### {part.__name__}\n")[2]
    listed = entry.partition("\n### ")[0]
    assert not [key for key in formats.keys_of(part) if f"| `{key}` |" not in listed]


@pytest.mark.parametrize("column", label_rows.COLUMNS)
def test_every_column_of_the_labels_file_is_listed(texts: dict[str, str], column: str) -> None:
    assert f"| `{column}` |" in section(texts["formats.md"], "The labels file")


@pytest.mark.parametrize("name", [*EXPORTS, *BUNDLES])
def test_every_export_is_listed(texts: dict[str, str], name: str) -> None:
    assert f"| `{name}` |" in section(texts["formats.md"], "The exports")


@pytest.mark.parametrize("name", READERS)
def test_every_reader_is_listed(texts: dict[str, str], name: str) -> None:
    assert f"| `{name}` |" in section(texts["formats.md"], "The batch file")


def keys_within(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for held in value if isinstance(value, list) else ():
        yield from keys_within(held)


def test_every_key_of_the_contracts_report_is_listed() -> None:
    """`tests/contract/report.json` has every block; keys that are data there are left out."""
    report = json.loads(CONTRACT.read_text("utf-8"))
    data = {rater["name"] for rater in report["raters"]} | {"mean", "system", "setting"}
    for held in report["variables"].values():
        data |= {*held["categories"], *held["escapes"]}
        data |= {name for judge in held["judges"].values() for name in judge["missing"]}
        data |= {name for judge in held["judges"].values() for name in judge["escapes"]}
        data |= {name for parts in held["strata"].values() for name in parts}
    data |= set(report["variables"]) | set(report["scores"]) | reports.ESTIMATE | {"reason"}
    data |= set(report["scores"]["coverage"]["systems"])
    paths = list(reports.keys())
    listed = {part.removesuffix("[]") for path in paths for part in path.split(".")}
    assert set(keys_within(report)) - data <= listed


def test_every_operation_of_the_api_is_listed(texts: dict[str, str]) -> None:
    found = [f"| [`{method} {path}`](#" for method, path, _ in api.operations()]
    assert found
    assert all(row in texts["api.md"] for row in found)


def test_every_operation_of_the_api_has_a_section(texts: dict[str, str]) -> None:
    text = texts["api.md"]
    linked = set(re.findall(r"\]\(#([a-z-]+)\) \|", text))
    headings = re.findall(r"^## (.+) \{ #([a-z-]+) \}$", text, re.MULTILINE)
    assert linked == {anchor for _, anchor in headings}
    assert len({title for title, _ in headings}) == len(headings)


def test_every_parameter_of_the_api_has_a_meaning(texts: dict[str, str]) -> None:
    assert "|  |" not in texts["api.md"]


def test_every_operation_of_the_api_shows_an_answer(texts: dict[str, str]) -> None:
    answers = texts["api.md"].count("What is answered, for example")
    assert answers == len(api.sections())


def test_every_variable_of_compose_is_listed(texts: dict[str, str]) -> None:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    named = {part.partition(":")[0].partition("}")[0] for part in text.split("${")[1:]}
    assert "POSTGRES_PASSWORD" in named
    assert not [name for name in named if f"| `{name}` |" not in texts["settings.md"]]


def test_every_variable_of_make_is_listed(texts: dict[str, str]) -> None:
    assert {"PORT", "PYTHON"} <= set(settings.make_variables())
    entry = section(texts["settings.md"], "With make")
    assert all(f"| `{name}` |" in entry for name in settings.make_variables())


def test_no_description_is_kept_for_something_that_no_longer_exists(
    texts: dict[str, str], recorded: dict[str, Recording]
) -> None:
    assert texts
    assert [(part, set(held) - held.asked) for part, held in recorded.items()] == [
        (part, set()) for part in recorded
    ]


def test_an_undescribed_option_is_refused_with_the_file_to_describe_it_in() -> None:
    with pytest.raises(
        words.UndocumentedError, match=r"nobody.knows .* docs/_reference/meanings.toml"
    ):
        words.meaning("options", "nobody.knows", "knows")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = json.dumps(navigation())
    assert all(listed.count(f'"{path}"') == 1 for path in pages())


def test_a_formula_keeps_its_stars_and_underscores() -> None:
    assert words.plain("a * b_c\n    of `d*e`.\n\nTwo < three.") == (
        "a \\* b\\_c of `d*e`.\n\nTwo &lt; three."
    )


def test_a_bar_in_a_table_cell_is_escaped() -> None:
    assert words.table(("a", "b"), [("x|y", "two\nlines")]).splitlines()[-1] == (
        "| x\\|y | two lines |"
    )


def test_every_app_of_ours_is_covered() -> None:
    assert {a.name for a in apps.get_app_configs() if (ROOT / a.name).is_dir()} <= set(OURS)
