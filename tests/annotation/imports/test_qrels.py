"""Qrels become labels of a named rater, and come out of Tandem as they went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.imports.importer import import_labels
from annotation.imports.index import ImportOptions
from annotation.imports.qrels import graded_variable, is_graded, looks_like_qrels
from annotation.models import Campaign, Label, Rater
from annotation.presentation import schema
from tandem.files.rows import InputError
from tandem.protocols.base import Variable
from tests.cast import campaign_of, load, run

pytestmark = pytest.mark.django_db

GRADED = "q1 0 p1 2\nq1 0 p2 0\nq1 Q0 p3 1\nq1 0 elsewhere 3\n"
BATCH = [
    {
        "id": "q1",
        "text": "How was it built?",
        "questions": [{"id": "q1:a", "text": "Of what?"}, {"id": "q1:b", "text": "By whom?"}],
        "passages": [{"id": f"p{n}", "text": f"Text {n}."} for n in (1, 2, 3)],
    }
]


@pytest.fixture
def relevance(tmp_path: Path) -> Campaign:
    load(tmp_path, BATCH)
    return campaign_of("grounding-relevance", "--option", "variables=relevant")


def written(folder: Path, text: str) -> Path:
    path = folder / "judged.qrels"
    path.write_bytes(text.encode())
    return path


def values() -> dict[str, str]:
    return dict(Label.objects.values_list("unit__key", "value"))


def refused(path: Path, campaign: Campaign, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        import_labels([path], campaign, "nist", "qrels", options=ImportOptions(**options))
    assert not Label.objects.exists()
    return caught.value


def test_grades_become_labels_of_the_named_rater(relevance: Campaign, tmp_path: Path) -> None:
    output = run("import_labels", written(tmp_path, GRADED), "--campaign", "c", "--rater", "nist")
    assert "Imported 3 labels from nist." in output
    assert "Skipped 1 grades of documents that the campaign does not ask about." in output
    assert values() == {"q1/p1": "yes", "q1/p2": "no", "q1/p3": "yes"}
    assert Rater.objects.get(name="nist").kind == "human"
    again = run("import_labels", written(tmp_path, GRADED), "--campaign", "c", "--rater", "nist")
    assert "Nothing to do for 3 labels" in again


def test_the_grade_from_which_a_passage_is_relevant_is_an_option(
    relevance: Campaign, tmp_path: Path
) -> None:
    run("import_labels", written(tmp_path, GRADED), "--campaign", "c", "--rater", "umbrela",
        "--relevant-from", "2", "--rater-kind", "judge")  # fmt: skip
    assert values() == {"q1/p1": "yes", "q1/p2": "no", "q1/p3": "no"}
    assert Rater.objects.get(name="umbrela").kind == "judge"
    assert Label.objects.get(unit__key="q1/p1").meta == {"grade": "2"}


def test_judgements_of_six_columns_name_their_rater(relevance: Campaign, tmp_path: Path) -> None:
    """The form of the RAG Track's subtask of relevance judgements, 2025."""
    lines = "q1 Q0 p1 3 0.9 my-qrel\nq1 Q0 p2 0 1 my-qrel\n"
    run("import_labels", written(tmp_path, lines), "--campaign", "c", "--format", "qrels")
    assert values() == {"q1/p1": "yes", "q1/p2": "no"}
    assert Rater.objects.get().name == "my-qrel"
    assert Label.objects.get(unit__key="q1/p2").meta == {"confidence": "1", "grade": "0"}


def test_qrels_of_sub_questions_come_out_as_they_went_in(tmp_path: Path) -> None:
    load(tmp_path, BATCH)
    campaign_of("rubric-passage", "--option", "sampling=all")
    lines = "q1 q1:a p1 5\nq1 q1:b p1 0\nq1 q1:a p2 3\n"
    run("import_labels", written(tmp_path, lines), "--campaign", "c", "--rater", "nist")
    out = run("export", "--campaign", "c", "--what", "qrels-diversity", "--format", "trec")
    assert sorted(out.splitlines()) == sorted(lines.splitlines())


@pytest.mark.parametrize(
    ("lines", "says", "line"),
    [
        ("q1 0 p1 2\nq1 0 p2\n", "3 columns where qrels have 4", 2),
        ("q1 0 p1 2\nq1 0 p2 good\n", 'the grade is "good"', 2),
        ("q1 Q0 p1 12 9.5 bm25\n", "the grade is 12, as in a ranked list", 1),
        ("q1 0 far 2\n", "grades no document that campaign 'c' asks about", None),
        ("q1 0 p1 2\nq1 0 p1 1\n", "has this label on line 1 too", 2),
    ],
)
def test_wrong_qrels_are_refused_with_their_line(
    relevance: Campaign, tmp_path: Path, lines: str, says: str, line: int | None
) -> None:
    error = refused(written(tmp_path, lines), relevance)
    assert says in error.wrong
    assert error.place.line == line
    assert error.remedy


def test_qrels_without_a_rater_are_refused(relevance: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--rater"):
        run("import_labels", written(tmp_path, GRADED), "--campaign", "c")


def test_a_grade_that_the_scale_lacks_is_refused(tmp_path: Path) -> None:
    load(tmp_path, BATCH)
    campaign = campaign_of("rubric-passage", "--option", "sampling=all")
    error = refused(written(tmp_path, "q1 q1:a p1 7\n"), campaign)
    assert 'rating is "7"' in error.wrong
    assert error.remedy == "give one of 0, 1, 2, 3, 4, 5"


def test_a_variable_without_grades_is_refused(tmp_path: Path) -> None:
    load(tmp_path, BATCH)
    campaign = campaign_of("grounding-relevance")
    error = refused(written(tmp_path, GRADED), campaign, variable="use")
    assert error.wrong.startswith("the codes of use are not grades: answer-the-question")
    error = refused(written(tmp_path, GRADED), campaign, variable="zebra")
    assert (error.wrong, error.remedy) == (
        'variable "zebra" is not asked',
        "give --variable one of relevant, use",
    )


def test_whole_numbers_are_grades_and_come_before_yes_and_no(relevance: Campaign) -> None:
    assert is_graded(Variable("r", "passage", "?", ("0", "1", "2"), "ordinal"))
    assert not is_graded(Variable("r", "passage", "?", ("none", "full")))
    assert not is_graded(Variable("r", "passage", "?", ("0", "1"), several=True))
    found = graded_variable(schema(relevance), "passage")
    assert found is not None
    assert found.name == "relevant"
    assert graded_variable(schema(relevance), "question") is None


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("1 0 d 2\n", True), ("1\tq:a\td\t-1\r\n", True), ("1 Q0 d 1 2.5 run\n", False),
     ('{"a": 1}\n', False), ("item,unit\n", False), ("a b c d\n", False)],
)  # fmt: skip
def test_qrels_are_recognised_by_their_first_line(tmp_path: Path, text: str, is_one: bool) -> None:
    assert looks_like_qrels(written(tmp_path, text)) == is_one
