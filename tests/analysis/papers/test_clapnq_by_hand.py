"""CLAPnq's tables match a made-up study of four questions, worked by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.models import Study
from analysis.papers import clapnq
from analysis.papers.base import Grid
from analysis.papers.material import Material
from analysis.papers.stored import StoredMaterial
from analysis.study import apply, read_study
from tandem.labels.selection import ReportOptions
from tandem.scores.options import TableOptions
from tests.analysis.papers.conftest import assert_refilled
from tests.analysis.papers.test_cells import reason, values
from tests.cast import write_lines
from tests.databases import rolled_back

pytestmark = [pytest.mark.django_db]
Line = dict[str, Any]
Grades = dict[str, tuple[str, str]]
PEOPLE = ("ada", "ben")

STUDY = """\
[study]
name = "reading"
preset = "clapnq"

[batch.questions]
files = ["questions.jsonl"]

[campaign.writing]
protocol = "grounded-answer"
batch = "questions"
raters_per_item = 2
option = { variables = "descriptor,deflected" }
labels = ["writing.jsonl"]

[campaign.rating]
protocol = "answer-rating"
batch = "questions"
raters_per_item = 2
option = { variables = "appropriate,faithful,needed_question,needed_answer" }
labels = ["rating.jsonl"]

[campaign.pairs]
protocol = "answer-preference"
batch = "questions"
raters_per_item = 2
labels = ["pairs.jsonl"]
"""

ANNA = ["Anna made it in 1901.", "Bert sold it."]
BLUE = ["It was red once.", "Now it is blue."]
WRITTEN = {"q1": ("Red box.", "Red old box."), "q2": ("So.", "So.")}
"""Ada's and Ben's own answers."""

FAITHFUL: Grades = {"q1-full": ("4", "4"), "q1-short": ("1", "1"),
                    "q2-full": ("4", "2"), "q2-short": ("3", "3")}  # fmt: skip
APPROPRIATE: Grades = {"q1-full": ("4", "4"), "q1-short": ("2", "2"),
                       "q2-full": ("3", "1"), "q2-short": ("2", "1")}  # fmt: skip
PREFERRED = {"q1-full/q1-short": ("first", "first"), "q2-full/q2-short": ("second", "tie-good")}
FOR_QUESTION = {"q1/q1p": "yy", "q1/q1x": "yn", "q2/q2p": "yn"}
FOR_ANSWER = {"q1-full/q1p": "yy", "q1-full/q1x": "nn", "q1-short/q1p": "nn",
              "q1-short/q1x": "yn", "q2-full/q2p": "yy", "q2-short/q2p": "yy"}  # fmt: skip


def questions() -> Iterator[Line]:
    """Two answerable questions and one without an answer in `dev`; one answerable in `test`."""
    nothing = {"text": "NA", "deflected": True}
    yield question(
        "q1", "Who made it?", "dev", [
            passage("q1p", ANNA, relevant=True), passage("q1x", ["It is red."], relevant=False),
        ],
        [
            {"text": "Anna made it.", "sentences": ANNA[:1]},
            {"text": "Anna did, in 1901, so they say.", "sentences": ANNA},
            nothing,
        ],
        full=ANNA[0], short="Bert.",
    )  # fmt: skip
    yield question(
        "q2", "What is its colour now?", "dev", [passage("q2p", BLUE)],
        [{"text": "Blue now.", "sentences": BLUE[1:]}], full="It is blue now.", short="Blue.",
    )  # fmt: skip
    yield question(
        "q3", "Why?", "dev", [passage("q3p", ["Nobody knows."])], [nothing],
        full="I don't know.", short="Nobody.",
    )  # fmt: skip
    yield question(
        "q4", "Does it work?", "test", [{"id": "q4p", "text": "Yes it does."}], [{"text": "Yes."}],
        full="Yes.",
    )  # fmt: skip


def question(
    name: str, text: str, split: str, passages: list[Line], references: list[Line], **answers: str
) -> Line:
    found = [each["id"] for each in passages]
    ranked = {"early": found, "late": found[::-1]}
    return {
        "id": name,
        "text": text,
        "passages": passages,
        "references": references,
        "rankings": [{"system": s, "passages": of} for s, of in ranked.items() if len(of) > 1],
        "reports": [
            {"id": f"{name}-{system}", "text": said, "system": system}
            for system, said in answers.items()
        ],
        "meta": {"split": split},
    }


def passage(name: str, sentences: list[str], relevant: bool | None = None) -> Line:
    found = {"id": name, "text": " ".join(sentences), "sentences": sentences}
    return found if relevant is None else {**found, "relevant": relevant}


def written() -> Iterator[Line]:
    for query, texts in WRITTEN.items():
        for rater, text in zip(PEOPLE, texts, strict=True):
            own = {
                "descriptor": "complete",
                "deflected": "no",
                "written": {"text": text, "citations": []},
            }
            yield {"item": query, "rater": rater, "units": {query: own}}


def rated() -> Iterator[Line]:
    words = {"y": "yes", "n": "no"}
    for variable, grades in (("faithful", FAITHFUL), ("appropriate", APPROPRIATE)):
        for unit, given in grades.items():
            yield from by_both(unit[:2], unit, "report", variable, given)
    for unit, said in FOR_QUESTION.items():
        given = (words[said[0]], words[said[1]])
        yield from by_both(unit[:2], unit, "passage", "needed_question", given)
    for unit, said in FOR_ANSWER.items():
        given = (words[said[0]], words[said[1]])
        yield from by_both(unit[:2], unit, "report-passage", "needed_answer", given)


def preferred() -> Iterator[Line]:
    for unit, given in PREFERRED.items():
        yield from by_both(unit, unit, "pair", "preferred", given)


def by_both(
    item: str, unit: str, kind: str, variable: str, given: tuple[str, str]
) -> Iterator[Line]:
    for rater, value in zip(PEOPLE, given, strict=True):
        at = {"item": item, "unit": unit, "kind": kind, "rater": rater}
        yield {**at, "variable": variable, "value": value}


@pytest.fixture(scope="module")
def folder(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder: Path = tmp_path_factory.mktemp("reading")
    write_lines(folder / "questions.jsonl", questions())
    write_lines(folder / "writing.jsonl", written())
    write_lines(folder / "rating.jsonl", rated())
    write_lines(folder / "pairs.jsonl", preferred())
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with rolled_back(django_db_blocker):
        apply(read_study(folder))
        yield folder


@pytest.fixture(scope="module")
def study(folder: Path) -> Material:
    return StoredMaterial(
        Study.objects.get(name="reading"),
        "clapnq",
        ReportOptions(resamples=20),
        TableOptions.of("clapnq"),
    )


@pytest.mark.every_case
def test_verify_fills_the_tables_again_from_the_release(folder: Path) -> None:
    assert_refilled(folder)


def columns(grid: Grid) -> list[tuple[str, float, int]]:
    return [(each.name, each.scale, each.digits) for each in grid.columns]


def counts(grid: Grid, name: str) -> list[int]:
    """How many values each estimate of a row is the mean of."""
    return [cell["n"] for cell in dict(grid.rows)[name] if isinstance(cell, dict)]


def near(expected: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: pytest.approx(row) for name, row in expected.items()}


def test_table_2_has_means_over_answerable_questions_and_their_answers(study: Material) -> None:
    means = clapnq.table_2(study)[0]
    assert (means.caption, means.stub) == ("questions: means", "Answerable questions")
    # The first, second and fourth question have 2, 1 and 1 answers. Only the first passage of q1
    # is relevant. The passage of q4 has no sentences, and its answer selects none.
    assert dict(values(means)) == near({
        "answers per question": [(2 + 1 + 1) / 3],
        "words of the question": [(3 + 5 + 3) / 3],
        "words of the passage": [(8 + 8 + 3) / 3],
        "sentences of the passage": [(2 + 2 + 0) / 3],
        "words of the answer": [(3 + 7 + 2 + 1) / 4],
        "selected sentences": [(1 + 2 + 1) / 3],
    })  # fmt: skip
    assert columns(means) == [("Mean", 1, 2)]


def test_table_2_compares_the_answers_that_people_wrote(study: Material) -> None:
    agreement = clapnq.table_2(study)[1]
    assert agreement.caption == "writing: agreement of people's answers"
    # "Red box." has 2 of the 3 words of "Red old box.": F = 2 * 2 / (2 + 3). The others are equal.
    assert dict(values(agreement)) == near({
        "all pairs of people, differing answers": [0.8, 1],
        "all pairs of people, all answers": [(0.8 + 1) / 2, 2],
    })  # fmt: skip
    assert columns(agreement) == [("Rouge-L F", 1, 3), ("Questions", 1, 0)]
    assert agreement.stub == "Pairs"


def test_table_3_counts_the_questions_of_each_split(study: Material) -> None:
    (grid,) = clapnq.table_3(study)
    assert (grid.caption, grid.stub) == ("questions", "Split")
    assert columns(grid) == [("Answerable", 1, 0), ("Unanswerable", 1, 0), ("Questions", 1, 0)]
    assert dict(values(grid)) == {"dev": [2, 1, 3], "test": [1, 0, 1], "all": [3, 1, 4]}


def test_section_321_compares_first_answers_with_selections_and_passages(study: Material) -> None:
    grid = clapnq.section_321(study)[0]
    assert grid.caption == "questions: first answer of a question"
    assert grid.stub == "Pair of texts"
    assert columns(grid) == [("Precision", 100, 1), ("Recall", 100, 1), ("F", 100, 1)]
    # Words in common, in both texts, for q1: 5 of 5 and 8, 3 of 3 and 5, 3 of 3 and 8;
    # for q2 ("now it is blue", "blue now"): 4 of 4 and 8, 1 of 2 and 4, 1 of 2 and 8.
    assert dict(values(grid)) == near({
        "selected sentences with passage": [1, (5 / 8 + 4 / 8) / 2, (10 / 13 + 8 / 12) / 2],
        "answer with selected sentences":
            [(1 + 1 / 2) / 2, (3 / 5 + 1 / 4) / 2, (6 / 8 + 2 / 6) / 2],
        "answer with passage": [(1 + 1 / 2) / 2, (3 / 8 + 1 / 8) / 2, (6 / 11 + 2 / 10) / 2],
    })  # fmt: skip
    assert counts(grid, "answer with passage") == [2, 2, 2]


def test_section_321_compares_every_answer_as_well(study: Material) -> None:
    _, grid = clapnq.section_321(study)
    assert (grid.caption, grid.stub) == ("questions: every answer", "Pair of texts")
    # The second answer of q1 selects the whole passage, and 3 of its 7 words are among the 8.
    assert dict(values(grid)) == near({
        "selected sentences with passage":
            [1, (5 / 8 + 1 + 4 / 8) / 3, (10 / 13 + 1 + 8 / 12) / 3],
        "answer with selected sentences":
            [(1 + 3 / 7 + 1 / 2) / 3, (3 / 5 + 3 / 8 + 1 / 4) / 3, (6 / 8 + 6 / 15 + 2 / 6) / 3],
        "answer with passage":
            [(1 + 3 / 7 + 1 / 2) / 3, (3 / 8 + 3 / 8 + 1 / 8) / 3, (6 / 11 + 6 / 15 + 2 / 10) / 3],
    })  # fmt: skip
    assert counts(grid, "answer with passage") == [3, 3, 3]


def test_table_4_ranks_the_gold_passage(study: Material) -> None:
    (grid,) = clapnq.table_4(study)
    cuts = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "Recall@10")
    assert columns(grid) == [(name, 100, 1) for name in cuts]
    # The second place gains 1 / log2(3).
    second = 0.6309298
    assert dict(values(grid)) == near({"early": [1] * 5, "late": [0, second, second, second, 1]})


def test_tables_5_6_8_compare_systems_with_references_in_each_split(study: Material) -> None:
    dev, test, everything = clapnq.tables_5_6_8(study)
    assert dev.caption == "questions, dev"
    assert columns(dev) == [
        ("RougeL", 100, 1), ("R", 100, 1), ("RougeLp", 100, 1), ("Len", 1, 0),
        ("RougeL of the answered", 100, 1), ("Unanswerable", 100, 1),
    ]  # fmt: skip
    # Words in common with the closest reference, q1 and q2: 3 of 5 and 3, and 2 of 4 and 2;
    # none of 1 and 3, and 1 of 1 and 2. With the 11 and 8 words of all passages: 5 of 5 and 3 of 4;
    # 1 of 1 each. Only one of them declines to answer q3.
    rouge = (6 / 8 + 4 / 6) / 2
    full = [rouge, 1, (10 / 16 + 6 / 12) / 2, (21 + 15) / 2, rouge, 1]
    short = [1 / 3, (0 + 1 / 2) / 2, (2 / 12 + 2 / 9) / 2, 5, 1 / 3, 0]
    assert dict(values(dev)) == near({"full": full, "short": short})
    assert counts(dev, "short") == [2, 2, 2, 2, 2, 1]
    # "Yes." is the reference of q4, and one of the three words of its passage.
    assert dict(values(test)) == near({"full": [1, 1, 2 / 4, 4, 1, None]})
    assert reason(test.rows[0][1][5]) == "no question is unanswerable"
    rouge = (6 / 8 + 4 / 6 + 1) / 3
    together = [rouge, 1, (10 / 16 + 6 / 12 + 2 / 4) / 3, (21 + 15 + 4) / 3, rouge, 1]
    assert dict(values(everything)) == near({"full": together, "short": short})
    captions = [test.caption, everything.caption]
    assert captions == ["questions, test", "questions, all"]


def test_tables_7_and_9_have_peoples_grades_and_the_share_of_pairs_won(study: Material) -> None:
    grid = clapnq.tables_7_9(study)[0]
    assert grid.caption == "questions, by people"
    assert columns(grid) == [
        ("Faithful", 1, 2), ("Appropriate", 1, 2), ("F+A", 1, 2), ("Win-rate", 100, 1),
    ]  # fmt: skip
    # Grades of q1 and q2, with the mean of two that differ: faithful 4 and 3, appropriate 4 and 2;
    # then 1 and 3, and 2 and 1.5. F+A is each answer's harmonic mean: 4 and 2.4; 4/3 and 2.
    # On q1 two verdicts are for `full`; on q2 one is against it, and a tie is half a win.
    assert dict(values(grid)) == near({
        "full": [(4 + 3) / 2, (4 + 2) / 2, (4 + 2.4) / 2, (1 + 0.5 / 2) / 2],
        "short": [(1 + 3) / 2, (2 + 1.5) / 2, (4 / 3 + 2) / 2, (0 + 1.5 / 2) / 2],
    })  # fmt: skip


def test_tables_7_and_9_have_the_agreement_of_people(study: Material) -> None:
    grid = clapnq.tables_7_9(study)[1]
    assert (grid.caption, grid.stub) == ("Agreement of people", "Variable")
    assert columns(grid) == [("Agreement", 100, 1), ("Gwet's AC", 1, 3)]
    # Equal grades of 4 answers: 2 and 3. One of two verdicts is shared; three of the four verdicts
    # were given, with shares of 1/2, 1/4 and 1/4.
    rows = dict(values(grid))
    shares = {name: row[0] for name, row in rows.items()}
    assert shares == {"appropriate (rating)": 0.5, "faithful (rating)": 0.75,
                      "preferred (pairs)": 0.5}  # fmt: skip
    by_chance = (1 / 2 * 1 / 2 + 2 * 1 / 4 * 3 / 4) / (4 - 1)
    ac = (0.5 - by_chance) / (1 - by_chance)
    assert rows["preferred (pairs)"][1] == pytest.approx(ac)


def test_tables_7_and_9_have_the_share_of_needed_passages(study: Material) -> None:
    grid = clapnq.tables_7_9(study)[2]
    assert (grid.caption, grid.stub) == ("Passages, by two or more people", "Share")
    assert columns(grid) == [
        ("Passages", 100, 1), ("Questions or answers with one", 100, 1),
        ("Passages seen by two", 1, 0),
    ]  # fmt: skip
    # Both people need one of three passages for the questions, and three of six for the answers.
    assert dict(values(grid)) == near({
        "relevant to the question (rating)": [1 / 3, 1 / 2, 3],
        "the texts to which an answer is faithful (rating)": [3 / 6, 3 / 4, 6],
    })  # fmt: skip
