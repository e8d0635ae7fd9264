"""The options of a paper's tables: the paper's, then the study file's, then those of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from analysis.models import Study
from analysis.papers.index import PAPERS
from analysis.papers.options import table_options
from analysis.study.file import parse_study, read_study
from annotation.models import User
from tandem.files.rows import InputError
from tests.analysis.papers.conftest import STUDY, paper_of, row_of, tables_of
from tests.api.cast import script_of
from tests.cast import run
from tests.page_cast import client_of

pytestmark = [pytest.mark.django_db]


def study_with(option: str, folder: Path | None = None) -> Any:
    text = STUDY.replace('preset = "crux"', f'preset = "crux"\noption = {option}')
    return parse_study(text, "study.toml", folder)


class TestCommand:
    def test_an_option_changes_the_tables_and_stands_at_their_head(self, crux_study: str) -> None:
        usual = paper_of("crux", crux_study)
        found = paper_of("crux", crux_study, "--option", "eta=5", "--option", "alpha=0.25")
        assert usual["changed"] == {}
        assert found["changed"] == {"eta": "5", "alpha": "0.25"}
        assert found["options"]["eta"]["value"] == 5
        assert "refusals" not in found["options"], "no table of CRUX reads it"
        by_replay = next(table for table in found["tables"] if table["key"] == "table-1")["grids"][
            1
        ]
        # At 5 a answers the only question that counts, and no report was rated 5.
        assert row_of(by_replay, "first")[:3] == [1, pytest.approx(1), 0]

    @pytest.mark.parametrize("form", ["md", "latex", "html"])
    def test_every_format_has_the_options_at_its_head(self, crux_study: str, form: str) -> None:
        text = run("paper", "crux", "--study", crux_study, "--resamples", "2", "--format", form,
                   "--option", "unrated=bounds")  # fmt: skip
        head = text[: text.index("Table 1")]
        assert "chosen: unrated=bounds" in head
        assert "options of CRUX: missing=zero, scope=listed, eta=3," in head

    @pytest.mark.parametrize(
        ("option", "says"),
        [
            ("eta=much", "eta cannot be 'much'; write it as 3"),
            ("nothing=1", "no option is called 'nothing'"),
            ("ties=half", "ties changes nothing in the tables of CRUX; their options are"),
            ("tokenizer=file:none.json", "none.json: cannot be read as a tokenizer.json"),
            ("eta", "'eta' is not K=V"),
        ],
    )
    def test_an_invalid_option_is_refused(self, crux_study: str, option: str, says: str) -> None:
        with pytest.raises(CommandError, match="--option: ") as caught:
            run("paper", "crux", "--study", crux_study, "--option", option)
        assert says in str(caught.value)

    def test_tokens_are_counted_with_the_tokenizer_of_a_file(
        self, crux_study: str, tmp_path: Path
    ) -> None:
        library = pytest.importorskip("tokenizers")
        made = library.Tokenizer(library.models.WordLevel({"w": 0, "[UNK]": 1}, "[UNK]"))
        made.pre_tokenizer = library.pre_tokenizers.Split("", "isolated")
        made.save(str(tmp_path / "letters.json"))
        option = f"tokenizer=file:{tmp_path / 'letters.json'}"
        found = paper_of("crux", crux_study, "--option", option)
        assert found["changed"]["tokenizer"].startswith("letters.json (sha256 ")
        (grid,) = next(t for t in found["tables"] if t["key"] == "table-4")["grids"]
        assert row_of(grid, "tokens per passage") == [49], "ten words of four letters, nine blanks"


class TestStudyFile:
    def test_its_options_are_those_of_every_later_table(self, crux_study: str) -> None:
        study = Study.objects.get(name=crux_study)
        study.options = study_with("{ eta = 5, filtered = false }").options
        study.save()
        found = paper_of("crux", crux_study, "--option", "eta=4")
        assert found["changed"] == {"eta": "4", "filtered": "no"}
        others = table_options(PAPERS["clapnq"], study, {})
        assert others == table_options(PAPERS["clapnq"], Study(), {}), "they are CRUX's"

    def test_a_list_is_read_like_a_table(self) -> None:
        assert study_with('["eta=5"]').options == {"eta": "5"}

    def test_a_file_is_looked_up_beside_the_study_file(self, tmp_path: Path) -> None:
        for name in ("documents", "reports", "passages", "coverage", "sampled", "sampled-ada",
                     "judge"):  # fmt: skip
            (tmp_path / f"{name}.jsonl").touch()
        (tmp_path / "mine.toml").write_text('phrases = ["no idea"]', "utf-8")
        found = study_with('{ refusals = "file:mine.toml" }', tmp_path)
        assert found.options == {"refusals": f"file:{tmp_path / 'mine.toml'}"}
        with pytest.raises(InputError, match=r"study\.toml, line 4: there is no file other\.toml"):
            study_with('{ refusals = "file:other.toml" }', tmp_path)

    @pytest.mark.parametrize(
        ("option", "says"),
        [
            ("{ eta = 'x' }", "option: eta cannot be 'x'; write it as 3.0; correct it"),
            ("{ etta = 5 }", "no option is called 'etta'"),
            ("5", "option is not a table; write option = "),
        ],
    )
    def test_an_invalid_option_is_refused_with_its_line(self, option: str, says: str) -> None:
        with pytest.raises(InputError) as caught:
            study_with(option)
        assert str(caught.value).startswith("study.toml, line 4: ")
        assert says in str(caught.value)

    def test_apply_stores_them(self, tmp_path: Path) -> None:
        (tmp_path / "study.toml").write_text(
            '[study]\nname = "s"\npreset = "clapnq"\noption = { ties = "good" }\n', "utf-8"
        )
        run("apply_study", tmp_path)
        assert Study.objects.get(name="s").options == {"ties": "good"}
        assert read_study(tmp_path).options == {"ties": "good"}


class TestTable5:
    def test_the_first_query_with_a_dropped_question_is_shown(self, crux_study: str) -> None:
        grids = tables_of("crux", crux_study, "--option", "eta=5")["table-5"]
        questions, passages, reports = grids[3:6]
        assert questions["caption"] == "documents, query q1, by replay: sub-questions"
        assert row_of(questions, "Q1: Question 1?") == [5, 1, "yes"]
        assert row_of(questions, "Q2: Question 2?") == [4, 0, "dropped"]
        assert row_of(passages, "q1a") == [5, 0, 1, 1, "required"]
        assert row_of(passages, "q1c") == [3, 0, 0, 0, "answers nothing"]
        assert row_of(reports, "first") == [0, 1, 0]

    def test_a_query_can_be_chosen(self, crux_study: str) -> None:
        questions, passages, reports = tables_of("crux", crux_study, "--option", "query=q2")[
            "table-5"
        ][:3]
        assert "query q2, by people" in questions["caption"]
        # c answers the same question as a, which is above it.
        assert [row["name"] for row in passages["rows"]] == ["q2a", "q2b", "q2c"]
        assert row_of(passages, "q2b") == [0, 4, 1, 1, "required"]
        assert row_of(passages, "q2c") == [3, 0, 1, 0, "redundant"]
        assert row_of(reports, "second") == [1, 2, 0.5]

    def test_an_unknown_query_has_that_reason(self, crux_study: str) -> None:
        (grid,) = tables_of("crux", crux_study, "--option", "query=q9")["table-5"]
        assert grid["rows"][0]["cells"][0]["reason"] == "no data set has the query 'q9'"


class TestPageAndApi:
    @pytest.fixture
    def root(self, crux_study: str) -> User:
        return User.objects.create_user("root", password="x", role=User.Role.ADMIN)

    def test_the_page_takes_the_options_that_its_form_offers(
        self, root: User, crux_study: str
    ) -> None:
        place = [Study.objects.get(name=crux_study).pk, "crux"]
        address = reverse("study-paper", args=place)
        found = client_of(root).get(address, {"eta": "5"})
        body = found.content.decode()
        assert found.status_code == 200
        assert 'name="eta"' in body
        assert 'name="tokenizer"' not in body, "only the operator names files of the server"
        assert "chosen: eta=5" in body
        wrong = client_of(root).get(address, {"alpha": "7"})
        assert wrong.status_code == 422
        assert "alpha is 7.0; it is from 0 to 1." in wrong.content.decode()

    def test_the_api_takes_the_options_of_the_command(self, root: User, crux_study: str) -> None:
        place = f"studies/{Study.objects.get(name=crux_study).pk}/papers/crux/"
        found = script_of(root).get(f"{place}?option=eta%3D5&option=query%3Dq2").json()
        assert found["changed"] == {"eta": "5", "query": "q2"}
        refused = script_of(root).get(f"{place}?option=tokenizer%3Dfile:/etc/hostname")
        assert refused.status_code == 400
        assert "may be chosen by the command only" in refused.content.decode()


def test_no_text_of_a_table_has_markup() -> None:
    """It stands in the LaTeX file and on the page as it is written."""
    texts = [table.about for paper in PAPERS.values() for table in paper.tables]
    assert texts
    assert not [text for text in texts if "`" in text]
