"""The program `tandem`: its tree, its exit statuses, and when it starts Django."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import get_commands

from annotation.models import Campaign
from docs._reference.commands import ours
from tandem.program.completion import tree
from tandem.program.main import main, overview
from tandem.program.site import parser_of
from tandem.verbs import BY_WORDS, NOUNS, TREE
from tests.cast import ROOT, campaign_of
from tests.program.labels import file_of, rows


@pytest.fixture
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


def started(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tandem", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


class TestTheTree:
    def test_every_command_has_one_verb_or_one_for_each_action(self) -> None:
        alone = [verb.command for verb in TREE if not verb.action]
        several = {verb.command for verb in TREE if verb.action}
        assert sorted([*alone, *several]) == sorted(ours())

    def test_every_verb_is_in_the_help_with_its_noun(self) -> None:
        text = overview()
        assert all(f"  {verb.name} " in text and verb.help in text for verb in TREE)
        assert all(f"{noun}: " in text for noun in NOUNS)
        assert {verb.words[0] for verb in TREE if len(verb.words) == 2} == set(NOUNS)

    @pytest.mark.every_case
    @pytest.mark.parametrize("name", [verb.name for verb in TREE])
    def test_every_verb_takes_what_its_command_takes(self, name: str) -> None:
        verb = BY_WORDS[tuple(name.split())]
        command, parser = parser_of(verb)
        own = {option for action in parser._actions for option in action.option_strings}
        assert {"--json", "--quiet", "--help"} <= own
        assert not verb.subject or verb.subject in own
        text = parser.format_help()
        assert text.startswith(f"usage: tandem {name} ")
        assert "--pythonpath" not in text
        assert command.help
        assert get_commands()[verb.command]

    def test_the_declared_entry_point_exists(self) -> None:
        declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        module, _, function = declared["scripts"]["tandem"].partition(":")
        assert getattr(import_module(module), function) is main


class TestWithoutDjango:
    def test_help_shows_the_usage_of_the_program(self) -> None:
        done = started("--help")
        assert done.returncode == 0
        assert done.stdout.startswith("usage: tandem")

    def test_neither_help_nor_a_bare_noun_nor_completion_imports_django(self) -> None:
        code = (
            "import sys; from tandem.program.main import main\n"
            "for words in ('--help', 'batch --help', 'completion bash', '--version'):\n"
            "    assert main(words.split()) == 0\n"
            "assert not {'django', 'numpy'} & set(sys.modules)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def test_a_report_over_a_file_needs_no_django(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = file_of(tmp_path, rows(12))
        assert main(["report", str(path), "--resamples", "20", "--format", "md"]) == 0
        assert capsys.readouterr().out.startswith("# Agreement")
        output = tmp_path / "report.json"
        assert (
            main(["report", "--labels", str(path), "--resamples=9", "--output", str(output)]) == 0
        )
        assert json.loads(output.read_text("utf-8"))["resamples"] == 9
        assert [each.name for each in tmp_path.iterdir() if each.name[0] == "."] == []

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ((), "cannot be read"),
            (("--epsilon", "2"), "--epsilon must be a number from 0 to 1"),
            (("--level", "x"), "is not VARIABLE=nominal"),
        ],
    )
    def test_a_wrong_file_is_refused_in_one_line(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        options: tuple[str, ...],
        error: str,
    ) -> None:
        path = str(tmp_path / "nowhere.jsonl")
        assert main(["report", path, *options]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert error in said.err
        assert said.err.count("\n") == 1
        assert main(["report", path, *options, "--json"]) == 1
        assert error in json.loads(capsys.readouterr().out)["error"]


class TestMisunderstoodCommands:
    @pytest.mark.parametrize(
        ("words", "answer"),
        [
            (["repotr"], "There is no verb 'repotr'; did you mean 'report'?"),
            (["batch", "laod"], "There is no verb of batch 'laod'; did you mean 'load'?"),
            (["judge", "xyz"], "There is no verb of judge 'xyz'; there are create, library,"),
            (["completion", "tcl"], "Name a shell: bash, zsh, fish."),
        ],
    )
    def test_a_misspelt_command_exits_with_2_and_suggests_the_right_one(
        self, words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(words) == 2
        assert answer in capsys.readouterr().err

    @pytest.mark.parametrize("words", [[], ["batch"]])
    def test_a_noun_without_a_verb_is_answered_with_its_verbs(
        self, words: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(words) == 2
        assert "batch load" in capsys.readouterr().err

    @pytest.mark.parametrize("words", [["batch", "load"], ["measures", "c", "--nothing"]])
    def test_wrong_options_exit_with_2(
        self, words: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith(f"usage: tandem {' '.join(words[:2])}"[:20])


@pytest.mark.parametrize("words", [["batch", "load"], ["migrate", "--no-such"]])
def test_the_logging_of_a_process_that_already_runs_django_is_left_alone(words: list[str]) -> None:
    handlers = [*logging.getLogger().handlers, *logging.getLogger("tandem").handlers]
    assert handlers
    with pytest.raises(SystemExit):
        main(words)
    left = [*logging.getLogger().handlers, *logging.getLogger("tandem").handlers]
    assert [id(each) for each in left] == [id(each) for each in handlers]


@pytest.mark.django_db
class TestOverTheDatabase:
    def test_a_batch_is_loaded_and_the_answer_is_json(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["batch", "schema", "example"]) == 0
        (tmp_path / "b.jsonl").write_text(capsys.readouterr().out, "utf-8")
        loading = ["batch", "load", str(tmp_path / "b.jsonl"), "--name", "first"]
        assert main([*loading, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["status"] == 0
        assert "first" in answer["lines"][0]
        assert main([*loading, "--quiet"]) == 0
        assert capsys.readouterr().out == ""

    def test_a_campaign_may_be_named_alone(
        self, coverage: Campaign, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["report", coverage.name, "--resamples", "9"]) == 0
        assert json.loads(capsys.readouterr().out)["campaign"] == coverage.name

    def test_an_unknown_name_is_refused_with_the_likely_one(
        self, coverage: Campaign, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["measures", coverage.name + "s"]) == 1
        meant = f"There is no campaign {coverage.name + 's'!r}; did you mean {coverage.name!r}?\n"
        assert capsys.readouterr().err == meant
        assert main(["measures", coverage.name + "s", "--json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert (answer["status"], answer["error"]) == (1, meant.strip())

    def test_a_shell_completes_stored_names(self, coverage: Campaign) -> None:
        words = ["report", "--campaign"]
        (verb,) = (each for each in tree(words)._subparsers._actions if each.choices)  # type: ignore[union-attr]
        of_verb = verb.choices["report"]  # type: ignore[index]
        (option,) = (each for each in of_verb._actions if "--campaign" in each.option_strings)
        assert option.completer(prefix=coverage.name[:1]) == [coverage.name]
        assert option.completer(prefix="nothing") == []

    def test_commands_of_manage_py_keep_their_own_names(
        self, coverage: Campaign, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["campaign_people", coverage.name]) == 0
        assert main(["showmigrations", "audit"]) == 0
        assert "audit" in capsys.readouterr().out

    def test_a_failed_comparison_exits_with_3(
        self, coverage: Campaign, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["audit", "check"]) == 0
        assert main(["audit", "check", "--head", "0" * 64]) == 3
        assert "is not valid" in capsys.readouterr().err
        assert main(["check", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["holds"] is True


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tandem ba", {"batch", "backup"}),
        ("tandem batch lo", {"load"}),
        ("tandem completion z", {"zsh"}),
        ("tandem batch load --na", {"--name"}),
    ],
)
def test_a_shell_completes_words_and_options(line: str, expected: set[str], tmp_path: Path) -> None:
    into = tmp_path / "found"
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(into),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run([sys.executable, "-m", "tandem"], cwd=ROOT, env=environment, check=False)
    assert {each.strip() for each in into.read_text("utf-8").splitlines()} == expected
