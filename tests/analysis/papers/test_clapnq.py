"""CLAPnq's tables match figures computed by other code, and the printed ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.papers.conftest import reason_of, released, row_of, tables_of
from tests.databases import rolled_back

pytestmark = [pytest.mark.django_db, pytest.mark.every_case]
Entries = dict[str, dict[str, Any]]
PAIRS = {
    "RS_P": "selected sentences with passage",
    "A_RS": "answer with selected sentences",
    "A_P": "answer with passage",
}


@pytest.fixture(scope="module")
def tables(
    data: Path,
    django_db_setup: None,
    django_db_blocker: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Any]]:
    with rolled_back(django_db_blocker):
        yield tables_of("clapnq", released("clapnq", data, tmp_path_factory.mktemp("clapnq")))


def test_table_2_has_the_statistics_of_the_release(tables: Any, expected: Entries) -> None:
    means, agreement = tables["table-2"]
    lengths = expected["clapnq.lengths"]["value"]
    for row, name in (
        ("answers per question", "usable_answers_per_question"),
        ("words of the question", "question_words_answerable"),
        ("words of the passage", "passage_words_answerable"),
        ("sentences of the passage", "passage_sentences_answerable"),
        ("words of the answer", "answer_words_usable"),
    ):
        assert row_of(means, row)[0] == pytest.approx(lengths[name], abs=0.005), row
    entry = expected["clapnq.iaa_rougeL_f1.round1_round2.nostem"]
    found = row_of(agreement, "both rounds, differing answers")
    assert found == [pytest.approx(entry["value"], abs=entry["tolerance"]), entry["n"]]


def test_table_3_counts_answerable_and_unanswerable_questions(tables: Any) -> None:
    (grid,) = tables["table-3"]
    assert row_of(grid, "all") == [300, 300, 600]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("which", ["first_usable_output", "all_usable_outputs"])
def test_section_321_compares_answers_selections_and_passages(
    tables: Any, expected: Entries, pair: str, which: str
) -> None:
    grid = tables["section-3.2.1"][which != "first_usable_output"]
    entry = expected[f"clapnq.rougeL.{pair}.{which}.nostem"]
    values = [entry["value"][name] for name in ("precision", "recall", "f1")]
    assert row_of(grid, PAIRS[pair]) == pytest.approx(values, abs=entry["tolerance"])


def test_tables_name_the_data_that_the_study_lacks(tables: Any) -> None:
    assert "rankings" in reason_of(tables["table-4"][0], "none yet", 0)
    assert "reports of systems" in reason_of(tables["tables-5-6-8"][0], "none yet", 0)
    assert "answer-rating" in reason_of(tables["tables-7-9"][0], "none yet", 0)
