"""A study declares which judges count as one: in its file, by command, and on its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from analysis.models import Study
from analysis.study import parse_study, read_study
from annotation.models import Campaign, User
from audit.models import Event
from datasets.models import Team
from tandem.files.rows import InputError
from tests.analysis.study.conftest import STUDY, labels_of
from tests.cast import run, write_lines
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db
DECLARED = '[evaluator.llm]\njudges = ["replay"]\n'
SECOND = '[judge.second]\nbackend = "scripted"\nanswers = "judge.jsonl"\n'


@pytest.fixture
def applied(folder: Path) -> Path:
    write_lines(folder / "ben.jsonl", labels_of("ben"))
    text = STUDY.replace('["ada.jsonl"]', '["ada.jsonl", "ben.jsonl"]').replace(
        '["replay"]', '["replay", "second"]'
    )
    (folder / "study.toml").write_text(text + SECOND, "utf-8")
    run("apply_study", folder)
    return folder


def add(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(path.read_text("utf-8") + text, "utf-8")
    return folder


def declared() -> dict[str, list[str]]:
    found: dict[str, list[str]] = Study.objects.get(name="pilot").evaluators
    return found


class TestFile:
    def test_a_table_names_the_judges_of_an_evaluator(self) -> None:
        assert parse_study(STUDY + DECLARED).evaluators == {"llm": ("replay",)}

    @pytest.mark.parametrize(
        ("table", "says"),
        [
            ('[evaluator.llm]\njudge = ["replay"]\n', "did you mean 'judges'"),
            ("[evaluator.llm]\n", "evaluator llm names no judges"),
            ('[evaluator.llm]\njudges = "replay"\n', "evaluator llm names no judges"),
            ("[evaluator]\nllm = 3\n", "evaluator.llm is not a table"),
        ],
    )
    def test_a_table_that_names_none_is_refused(self, table: str, says: str) -> None:
        with pytest.raises(InputError, match=says):
            parse_study(STUDY + table)

    def test_a_judge_that_neither_the_file_nor_labels_name_is_refused_with_its_line(self) -> None:
        text = STUDY.replace('labels = ["ada.jsonl"]\n', "")
        with pytest.raises(
            InputError, match=r"study.toml, line 17: there is no judge 'replya' here"
        ):
            parse_study(text + DECLARED.replace("replay", "replya"))

    def test_judges_of_two_models_are_refused(self) -> None:
        models = SECOND.replace("[judge.second]", '[judge.second]\nfamily = "b"')
        text = STUDY.replace("[judge.replay]", '[judge.replay]\nfamily = "a"') + models
        with pytest.raises(InputError, match="evaluator 'llm' has judges of a and b"):
            parse_study(text + DECLARED.replace('"replay"', '"replay", "second"'))

    def test_plan_and_apply_declare_it_once(self, applied: Path) -> None:
        add(applied, DECLARED)
        with pytest.raises(CommandError, match="1 step is left"):
            run("plan_study", applied)
        assert "evaluator llm: count replay as one" in run("apply_study", applied)
        assert declared() == {"llm": ["replay"]}
        assert "Nothing to do" in run("apply_study", applied)
        assert "keep   evaluator llm" in run("plan_study", applied)

    def test_one_that_left_the_file_stays_and_is_named(self, applied: Path) -> None:
        text = (applied / "study.toml").read_text("utf-8")
        run("apply_study", add(applied, DECLARED))
        (applied / "study.toml").write_text(text, "utf-8")
        assert "leave  evaluator llm" in run("plan_study", applied)

    def test_judges_of_one_variable_and_campaign_are_refused_by_name(self, applied: Path) -> None:
        add(applied, DECLARED.replace('"replay"', '"replay", "second"'))
        says = r"'llm' has two judges that labelled 'answerable' in campaign 'coverage', 'replay'"
        for command in ("plan_study", "apply_study"):
            with pytest.raises(CommandError, match=says):
                run(command, applied)

    def test_the_file_is_read_with_its_evaluators(self, folder: Path) -> None:
        assert read_study(add(folder, DECLARED)).evaluators == {"llm": ("replay",)}


class TestCommand:
    def test_it_declares_lists_and_removes(self, applied: Path) -> None:
        study = ("--study", "pilot")
        assert run("study_evaluators", *study) == "Each judge counts alone.\n"
        said = run("study_evaluators", *study, "--declare", "llm", "--judge", "replay")
        assert said == "llm: replay (declared)\n"
        assert Event.objects.filter(event="study.evaluators").count() == 1
        run("study_evaluators", *study, "--remove", "llm")
        assert declared() == {}

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (("--declare", "llm"), "give --declare and --judge"),
            (("--declare", "llm", "--judge", "replya"), "did you mean 'replay'"),
            (("--declare", "people", "--judge", "replay"), "means something else in tables"),
            (("--declare", "ada", "--judge", "replay"), "is the name of a rater"),
            (("--remove", "llm"), "declares no evaluator 'llm'"),
            (
                ("--declare", "llm", "--judge", "replay", "--judge", "second"),
                "two judges that labelled 'answerable' in campaign 'coverage'",
            ),
        ],
    )
    def test_it_refuses_what_cannot_count_as_one(
        self, applied: Path, options: tuple[str, ...], says: str
    ) -> None:
        with pytest.raises(CommandError, match=says):
            run("study_evaluators", "--study", "pilot", *options)
        assert declared() == {}

    def test_a_judge_belongs_to_one_evaluator(self, applied: Path) -> None:
        run("study_evaluators", "--study", "pilot", "--declare", "llm", "--judge", "replay")
        with pytest.raises(CommandError, match="belongs to evaluators 'llm' and 'other'"):
            run("study_evaluators", "--study", "pilot", "--declare", "other", "--judge", "replay")


class TestPage:
    @pytest.fixture
    def page(self, applied: Path) -> tuple[Client, str]:
        study = Study.objects.get()
        rita = User.objects.create_user("rita", role=User.Role.RESEARCHER)
        return client_of(rita), reverse("study-evaluators", args=[study.pk])

    def test_a_manager_declares_and_removes_them(self, page: tuple[Client, str]) -> None:
        client, address = page
        assert "Each judge counts alone." in client.get(address).content.decode()
        sent = {"name": "llm", "judges": ["replay"]}
        assert client.post(address, sent).status_code == 302
        assert declared() == {"llm": ["replay"]}
        assert "Remove" in client.get(address).content.decode()
        client.post(address, {"remove": "llm"})
        assert declared() == {}

    @pytest.mark.parametrize(
        ("sent", "says"),
        [
            ({"name": "", "judges": ["replay"]}, "blank or long name"),
            ({"name": "llm"}, "has no judge"),
            ({"name": "llm", "judges": ["ada"]}, "has no label in this study"),
            ({"name": "llm", "judges": ["replay", "second"]}, "two judges that labelled"),
        ],
    )
    def test_it_says_why_judges_cannot_count_as_one(
        self, page: tuple[Client, str], sent: dict[str, object], says: str
    ) -> None:
        client, address = page
        answer = client.post(address, sent)
        assert answer.status_code == 422
        assert says in answer.content.decode()
        assert declared() == {}

    def test_who_does_not_manage_its_campaigns_declares_none(
        self, page: tuple[Client, str], applied: Path
    ) -> None:
        client, address = page
        Campaign.objects.update(team=Team.objects.create(name="others"))
        assert client.post(address, {"name": "llm", "judges": ["replay"]}).status_code == 404
