"""GaRAGe's tables match a study that shows raters the relevant passages only, worked by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.models import Study
from analysis.papers import garage
from analysis.papers.base import Grid
from analysis.papers.material import Material
from analysis.papers.stored import StoredMaterial
from analysis.study import apply, read_study
from tandem.labels.selection import ReportOptions
from tandem.scores.options import TableOptions
from tests.analysis.papers.test_cells import reason, values
from tests.cast import write_lines
from tests.databases import rolled_back

pytestmark = [pytest.mark.django_db]
Line = dict[str, Any]

STUDY = """\
[study]
name = "relevance"
preset = "garage"

[batch.questions]
files = ["questions.jsonl"]

[campaign.answers]
protocol = "answer-rating"
batch = "questions"
option = { variables = "eligibility,support,abstains", passages = "relevant" }
labels = ["answers.jsonl"]

[campaign.validation]
protocol = "grounded-answer"
batch = "questions"
raters_per_item = 2
option = { variables = "grounded" }
labels = ["validation.jsonl"]
"""

KINDS = {"q1": ("static", "head"), "q2": ("static", "tail"), "q3": ("fast-changing", "tail")}
PASSAGES = {"q1": {"a": ("web", True), "b": ("private", False)}, "q2": {"a": ("web", True)},
            "q3": {"a": ("private", True)}}  # fmt: skip
ANSWERED: dict[str, Line] = {
    "q1": {"text": "It is old.", "citations": ["q1a", "q1b"]},
    "q2": {"text": "It is old.", "citations": ["q2a"]},
    "q3": {"text": "Nothing.", "deflected": True},
}
RATED = {
    "q1": ("minor", "supported", "no"),
    "q2": ("major", "supported", "yes"),
    "q3": ("none", "unsupported", "yes"),
}
"""Eligibility, support of each sentence, and whether Ada says that the answer abstains."""
SENTENCES = {"q1": ["It is old."], "q2": ["It is old.", "It is big."], "q3": ["It is old."]}
VALID = {"q1#1": ("yes", "yes"), "q2#1": ("no", "no"), "q2#2": ("yes", "yes"),
         "q3#1": ("yes", "no")}  # fmt: skip
"""What Ada and Ben say of the sentences."""


def questions() -> Iterator[Line]:
    for query, passages in PASSAGES.items():
        sensitivity, popularity = KINDS[query]
        yield {
            "id": query,
            "text": "What of it?",
            "passages": [
                {"id": f"{query}{p}", "text": f"It is {p}.", "source": source, "relevant": relevant}
                for p, (source, relevant) in passages.items()
            ],
            "reports": [
                {
                    "id": f"{query}-plain",
                    "text": " ".join(SENTENCES[query]),
                    "sentences": SENTENCES[query],
                    "system": "plain",
                    "citations": [f"{query}a"],
                }
            ],
            "references": [ANSWERED[query]],
            "meta": {"sensitivity": sensitivity, "popularity": popularity},
        }


def rated() -> Iterator[Line]:
    for query, (eligibility, support, abstains) in RATED.items():
        report = f"{query}-plain"
        at = {"item": query, "rater": "ada"}
        whole = {**at, "unit": report, "kind": "report"}
        yield {**whole, "variable": "eligibility", "value": eligibility}
        yield {**whole, "variable": "abstains", "value": abstains}
        for n in range(1, len(SENTENCES[query]) + 1):
            sentence = {**at, "unit": f"{report}#{n}", "kind": "sentence"}
            yield {**sentence, "variable": "support", "value": support}


def validated() -> Iterator[Line]:
    for sentence, said in VALID.items():
        query, _, number = sentence.partition("#")
        at = {"item": query, "unit": f"{query}-plain#{number}", "kind": "sentence"}
        for rater, value in zip(("ada", "ben"), said, strict=True):
            yield {**at, "rater": rater, "variable": "grounded", "value": value}


@pytest.fixture(scope="module")
def study(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Material]:
    folder: Path = tmp_path_factory.mktemp("relevance")
    write_lines(folder / "questions.jsonl", questions())
    write_lines(folder / "answers.jsonl", rated())
    write_lines(folder / "validation.jsonl", validated())
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with rolled_back(django_db_blocker):
        apply(read_study(folder))
        yield StoredMaterial(
            Study.objects.get(name="relevance"),
            "garage",
            ReportOptions(resamples=20),
            TableOptions.of("garage"),
        )


def heads(grid: Grid) -> list[str]:
    return [column.name for column in grid.columns]


def row_of(grid: Grid, name: str) -> list[Any]:
    return dict(values(grid))[name]


def test_table_2_has_factuality_by_the_relevant_passages(study: Material) -> None:
    (grid,) = garage.table_2(study)
    # Two of the three answers are eligible, two are supported, and one is both.
    found = row_of(grid, "plain")
    assert found == [pytest.approx(2 / 3), None, None, pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert heads(grid) == ["Eligibility", "Unadj. factuality", "Factuality", "uRAF", "RAF"]
    for column in (1, 2):
        assert "in which all passages are shown" in reason(grid.rows[0][1][column])


def test_figures_5_and_6_divide_raf_by_kinds_of_questions(study: Material) -> None:
    # Only the answer to q1 is eligible and supported. Ordered values are in their order.
    expected: dict[str, dict[str, float]] = {
        "sensitivity": {"static": 1 / 2, "fast-changing": 0},
        "source": {"private": 0, "private + web": 1, "web": 0},
        "grounding": {"medium": 1, "high": 0},
        "popularity": {"head": 1, "tail": 0},
    }
    grids = garage.figures_5_6(study)
    assert [grid.caption for grid in grids] == [f"By {name}, by people" for name in expected]
    for grid, of in zip(grids, expected.values(), strict=True):
        assert heads(grid) == [*of, "average"]
        assert row_of(grid, "plain") == pytest.approx([*of.values(), 1 / 3])


def test_tables_3_and_4_weigh_answers_or_citations_equally(study: Material) -> None:
    grid = garage.tables_3_4(study)[0]
    # No text declines. Answers cite one of the two passages of q1, and the only one of q2.
    assert grid.caption == "By the texts"
    means, micro = [1, (1 / 2 + 1) / 2], [1, 2 / 3, 2 * 2 / (2 + 3)]
    of_means, mean_of_f1 = 2 * 3 / 4 / (1 + 3 / 4), (2 / 3 + 1) / 2
    expected = [0, 0, *means, of_means, *micro, mean_of_f1]
    assert row_of(grid, "plain") == pytest.approx(expected)


def test_tables_3_and_4_have_the_deflections_that_people_see(study: Material) -> None:
    _, grid = garage.tables_3_4(study)
    assert (grid.caption, heads(grid)) == ("By people", ["Deflection TP", "Deflection FP"])
    # Ada says that the answers to q2 and q3 abstain; people deflected q3 alone.
    assert row_of(grid, "plain") == [1, 0.5]


def test_section_2_has_the_grounded_share_of_validated_sentences_without_ties(
    study: Material,
) -> None:
    (grid,) = garage.section_2(study)
    assert grid.caption == "validation: sentences"
    assert heads(grid) == ["Supported by a passage", "Sentences"]
    # The sentence of q1 is grounded, and so is one of two of q2; people tie on that of q3.
    assert row_of(grid, "people's answers") == [pytest.approx(2 / 3), 3]


def test_figure_4_has_sources_and_deflections_and_names_the_missing_campaign(
    study: Material,
) -> None:
    sources, grounding, deflections = garage.figure_4(study)
    assert row_of(sources, "private") == row_of(sources, "web") == [0.5, 2]
    assert "no campaign of grounding-relevance" in reason(grounding.rows[0][1][0])
    assert row_of(deflections, "answered") == [pytest.approx(2 / 3), 2]
    assert row_of(deflections, "deflected") == [pytest.approx(1 / 3), 1]
