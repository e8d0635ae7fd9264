"""Each option for unrated cells gives its own figures for a half-rated perfect ranking."""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.campaigns.frames import campaign_frame
from analysis.evaluation.build import asked_content, measures_report
from analysis.evaluation.system_values import named_measures
from annotation.models import Campaign, QuerySampling
from datasets.material import batch_rows
from tandem.labels.selection import ReportOptions
from tandem.scores.options import PRESETS
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import label, value
from tests.cast import write_lines
from tests.databases import rolled_back

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
QUERIES, QUESTIONS, PASSAGES = 12, 4, 8
HALF = "half"
OF_CONTEXTS = ("Cov", "alpha_nDCG", "Den")


def every(*_: int) -> bool:
    return True


def answering(n: int) -> list[list[int]]:
    """The questions that each passage answers: the first four answer one each, the others none.

    All orders of the first four are perfect.
    """
    return [[(n + p) % QUESTIONS] if p < QUESTIONS else [] for p in range(PASSAGES)]


def line(n: int, **marks: bool) -> JSON:
    passages = [f"t{n:02}-p{p}" for p in range(PASSAGES)]
    return {
        "id": f"t{n:02}",
        "text": "?",
        "questions": [{"id": f"t{n:02}-q{q}", "text": "?"} for q in range(QUESTIONS)],
        "passages": [
            {
                "id": each,
                "text": "Some words.",
                **({"relevant": marks[each[4:]]} if each[4:] in marks else {}),
            }
            for each in passages
        ],
        "rankings": [{"system": "perfect", "passages": passages}],
    }


def ratings(rated: Callable[[int, int, int], bool]) -> Iterator[JSON]:
    for n in range(QUERIES):
        for p, answered in enumerate(answering(n)):
            for q in range(QUESTIONS):
                if rated(n, p, q):
                    code = 5 if q in answered else 0
                    yield label(f"t{n:02}/t{n:02}-p{p}", f"t{n:02}-q{q}", "rating", code)


def collection(
    tmp_path: Path,
    rated: Callable[[int, int, int], bool],
    lines: list[JSON] | None = None,
    campaign: str = "c",
) -> None:
    """A campaign in which one person rated these cells."""
    load(tmp_path, list(ratings(rated)), lines, campaign)


def load(
    tmp_path: Path, labels: list[JSON], lines: list[JSON] | None = None, campaign: str = "c"
) -> None:
    batch = write_lines(tmp_path / "b.jsonl", lines or [line(n) for n in range(QUERIES)])
    run("load_batch", str(batch), "--name", campaign)
    run("create_campaign", campaign, "--protocol", "rubric-passage", "--batch", campaign,
        "--option", "sampling=all")  # fmt: skip
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", labels)), "--campaign", campaign)


def measures(*options: str, campaign: str = "c") -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", campaign, "--resamples", "2", *options))
    return found


def cell(report: JSON, name: str, system: str = "perfect") -> JSON:
    found: JSON = report["measures"][name]["systems"][system]["people"]
    return found


@pytest.fixture(scope="module")
def half(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., JSON]]:
    """Measures with these options, with a random half of the cells rated."""
    drawn = np.random.default_rng(5).random((QUERIES, PASSAGES, QUESTIONS)) < 0.5
    folder = tmp_path_factory.mktemp("half")
    with rolled_back(django_db_blocker):
        collection(folder, lambda n, p, q: bool(drawn[n, p, q]), campaign=HALF)
        yield functools.cache(functools.partial(measures, campaign=HALF))


@pytest.fixture
def passages(tmp_path: Path) -> None:
    """Every second passage, with all of its cells."""
    collection(tmp_path, lambda n, p, q: (n + p) % 2 == 0)


def test_measures_by_name_are_those_of_the_whole_report(half: Callable[..., JSON]) -> None:
    campaign, names = Campaign.objects.get(name=HALF), ("nDCG@3", "Recall@3", "Cov")
    options, of_report = replace(PRESETS["tandem"], cuts=(3,)), ReportOptions(resamples=2)
    whole = measures_report(campaign, options, "tandem", of_report)["measures"]
    queries = tuple(batch_rows(campaign.batch))
    frame = campaign_frame(campaign, of_report)
    asked = asked_content(campaign)
    found = named_measures(asked, names, options, of_report, frame, queries)
    assert set(found) == set(names) & set(whole) >= {"nDCG@3", "Cov"}
    for name, of in found.items():
        assert of["systems"] == whole[name]["systems"], name


def test_a_fully_rated_perfect_ranking_scores_1(tmp_path: Path) -> None:
    collection(tmp_path, every)
    found = measures()
    for name in ("Cov", "alpha_nDCG", "Cov@10", "alpha_nDCG@10"):
        assert cell(found, name)["value"] == pytest.approx(1)
        assert cell(found, name)["judged"] == 1
    assert "bounds" not in cell(found, "Cov")


def test_a_figure_that_needs_unrated_cells_is_null_and_counts_them(
    half: Callable[..., JSON],
) -> None:
    found = half()
    for name in OF_CONTEXTS:
        of = cell(found, name)
        unrated = round(100 * (1 - of["judged"]))
        assert (of["value"], of["low"], of["n"]) == (None, None, 0)
        assert of["judged"] == pytest.approx(0.5, abs=0.06)
        assert of["reason"].startswith(f"{unrated} % of the cells within the cut were never rated")
        assert "choose unrated=bounds, unrated=condensed or unrated=zero" in of["reason"]


def test_the_reported_share_of_rated_cells_is_that_within_the_cut(tmp_path: Path) -> None:
    """All cells of the first four passages are rated, and none of the others."""
    collection(tmp_path, lambda n, p, q: p < QUESTIONS)
    found = measures("--option", "cuts=4,8")
    assert cell(found, "Cov@4")["judged"] == 1
    assert cell(found, "Cov@8")["judged"] == pytest.approx(0.5)
    assert cell(found, "Cov@4")["value"] == 1
    reason = cell(found, "alpha_nDCG@4")["reason"]
    assert "50 % of the cells by which the best order is found" in reason
    assert "none of them within the cut" in reason


def test_with_zero_unrated_cells_count_as_no(half: Callable[..., JSON]) -> None:
    found = half("--option", "unrated=zero")
    values = [cell(found, f"alpha_nDCG{cut}")["value"] for cut in ("", "@10", "@20")]
    assert all(0.5 < each < 0.9 for each in values)
    assert cell(found, "alpha_nDCG")["judged"] == pytest.approx(0.5, abs=0.06)


def test_with_bounds_unrated_cells_count_all_as_no_and_all_as_yes(
    half: Callable[..., JSON],
) -> None:
    found, zero = (half("--option", f"unrated={each}") for each in ("bounds", "zero"))
    for name in OF_CONTEXTS:
        of = cell(found, name)
        assert of["value"] is None
        assert of["bounds"][0] == pytest.approx(cell(zero, name)["value"])
        assert of["bounds"][0] <= of["bounds"][1]
        assert "the bounds assume that all of them are no, and that all are yes" in of["reason"]
    ranked = cell(found, "alpha_nDCG")["bounds"]
    assert ranked[0] < ranked[1]


def test_with_condensed_unrated_passages_leave_ranking_and_best_order(passages: None) -> None:
    found = measures("--option", "unrated=condensed")
    for name in ("Cov", "alpha_nDCG", "Cov@10", "alpha_nDCG@10"):
        assert cell(found, name)["value"] == pytest.approx(1)
        assert cell(found, name)["n"] == QUERIES
        assert cell(found, name)["judged"] == pytest.approx(0.5)


def test_with_condensed_a_query_without_rated_passages_is_undefined(tmp_path: Path) -> None:
    """The first question of every passage was never rated."""
    collection(tmp_path, lambda n, p, q: q > 0)
    of = cell(measures("--option", "unrated=condensed"), "alpha_nDCG")
    assert of["value"] is None
    assert of["judged"] == pytest.approx(3 / 4)


def test_a_query_without_any_rating_is_left_out(tmp_path: Path) -> None:
    collection(tmp_path, lambda n, p, q: n < 10)
    of = cell(measures(), "alpha_nDCG")
    assert (of["value"], of["n"], of["judged"]) == (pytest.approx(1), 10, 1)


def test_a_passage_marked_irrelevant_counts_as_no_and_keeps_its_rank(
    tmp_path: Path,
) -> None:
    """p0, which was not rated, comes first; p1 to p4 each answer one question."""
    lines = [line(n, p0=False, p5=False, p6=False, p7=False) for n in range(QUERIES)]
    collection(tmp_path, lambda n, p, q: 0 < p <= 4, lines)
    found = measures("--option", "oracle=passages")
    # Three of the questions are answered, one each by p1 to p3, at ranks 2 to 4 instead of 1 to 3.
    discount = 1 / np.log2(np.arange(2, 6))
    expected = discount[1:4].sum() / discount[:3].sum()
    assert cell(found, "alpha_nDCG")["value"] == pytest.approx(expected)
    assert cell(found, "alpha_nDCG")["judged"] == 1
    assert cell(found, "Cov")["value"] == pytest.approx(1)


def test_a_label_overrides_the_batchs_mark(tmp_path: Path) -> None:
    lines = [line(n, p0=False) for n in range(QUERIES)]
    collection(tmp_path, every, lines)
    assert cell(measures("--option", "oracle=passages"), "alpha_nDCG")["value"] == 1


def test_the_crux_preset_counts_passages_of_other_queries_as_no(tmp_path: Path) -> None:
    lines = [line(n) for n in range(QUERIES)]
    for each in lines:
        each["rankings"][0]["passages"].insert(0, f"{each['id']}-elsewhere")
    collection(tmp_path, every, lines)
    found, crux = measures(), measures("--preset", "crux")
    assert "of the cells within the cut were never rated" in cell(found, "Cov")["reason"]
    assert cell(crux, "Cov")["value"] == 1
    discount = 1 / np.log2(np.arange(2, 7))
    expected = discount[1:5].sum() / discount[:4].sum()
    assert cell(crux, "alpha_nDCG")["value"] == pytest.approx(expected)


def test_no_preset_counts_unrated_cells_of_the_querys_passages_as_no(
    half: Callable[..., JSON],
) -> None:
    assert {preset.unrated for preset in PRESETS.values()} == {"refuse"}
    assert cell(half("--preset", "crux"), "Cov")["value"] is None


def test_a_question_with_a_failed_judgement_is_left_out_of_ranking_and_best_order(
    tmp_path: Path,
) -> None:
    """The judge could not say whether p5 answers the question that only p0 answers."""

    def failed(each: JSON) -> bool:
        n = int(each["item"][1:3])
        return bool(each["item"].endswith("p5") and each["unit"].endswith(f"q{n % QUESTIONS}"))

    labels = [
        {
            **{k: v for k, v in each.items() if k != "value"},
            "rater": "judge",
            "rater_kind": "judge",
            **({"missing": "unreadable"} if failed(each) else {"value": each["value"]}),
        }
        for each in ratings(every)
    ]
    load(tmp_path, labels)
    # Without this question, p0 at the first rank answers nothing, and p1 to p3 one each.
    discount = 1 / np.log2(np.arange(2, 6))
    moved = discount[1:4].sum() / discount[:3].sum()
    for missing, expected in (("leave-out", moved), ("zero", 1.0)):
        found = measures("--option", f"missing={missing}")["measures"]
        assert value(found["alpha_nDCG"], "perfect", "judge") == pytest.approx(expected)
        judged = found["alpha_nDCG"]["systems"]["perfect"]["raters"]["judge"]
        assert (judged["judged"], judged["n"]) == (pytest.approx(31 / 32), QUERIES)


def test_figures_that_depend_on_a_refused_figure_are_null_with_its_reason(
    half: Callable[..., JSON],
) -> None:
    found = half("--option", "relevance=answering")
    for name in ("MAP", "Recall", "nDCG"):
        assert cell(found, name)["value"] is None
        assert "never rated" in cell(found, name)["reason"]
    for pair in (*found["metrics"]["people"], *found["sampled"]["people"]):
        if "Tokens" not in (pair["a"], pair["b"]):
            assert pair["kendall"]["value"] is None
    sampled = {(each["a"], each["b"]): each["kendall"] for each in found["sampled"]["people"]}
    assert "never rated" in sampled["Cov", "alpha_nDCG"]["reason"]
    assert set(found["required"]["people"].values()) == {None}
    held = found["reference_contexts"]["people"]
    assert {held[of]["Cov"]["value"] for of in ("oracle", "required")} == {None}


def test_the_estimate_from_people_and_judge_is_null_if_peoples_figure_is(tmp_path: Path) -> None:
    """People rated every second question of the passages of the sampled queries."""
    batch = write_lines(tmp_path / "b.jsonl", [line(n) for n in range(QUERIES)])
    run("load_batch", str(batch), "--name", "b")
    run("create_campaign", "c", "--protocol", "rubric-passage", "--batch", "b",
        "--option", "sampling=all", "--human-share", "0.5")  # fmt: skip
    keys = QuerySampling.objects.filter(campaign__name="c", drawn=True).values_list(
        "query__key", flat=True
    )
    drawn = {int(key[1:]) for key in keys}
    every_second = ratings(lambda n, p, q: n in drawn and q % 2 == 0)
    for name, people in (("half", every_second), ("whole", ratings(lambda n, p, q: n in drawn))):
        judge = [{**each, "rater": "judge", "rater_kind": "judge"} for each in ratings(every)]
        path = write_lines(tmp_path / f"{name}.jsonl", [*people, *judge])
        run("import_labels", str(path), "--campaign", "c")
        of = measures()["measures"]["Cov"]["powered"]["judge"]["systems"]["perfect"]
        if name == "half":
            assert of["value"] is None
            assert of["reason"].startswith("50 % of the cells within the cut were never rated")
        else:
            assert of["value"] == pytest.approx(1)


def test_every_format_shows_the_share_of_rated_cells(half: Callable[..., JSON]) -> None:
    options = ("--campaign", HALF, "--resamples", "2", "--option", "unrated=bounds")
    of = cell(half("--option", "unrated=bounds"), "alpha_nDCG")
    no, yes = of["bounds"]
    share = f"{100 * of['judged']:.0f} % rated"
    shown = f"{no:.3f} to {yes:.3f}, {share}"
    assert shown in run("measures", *options, "--format", "md")
    assert f"{no:.3f} to {yes:.3f}" in run("measures", *options, "--format", "latex")
    text = run("measures", *options, "--format", "csv")
    rows = [
        row
        for row in csv.DictReader(io.StringIO(text))
        if (row["part"], row["measure"], row["by"]) == ("leaderboard", "alpha_nDCG", "people")
    ]
    assert [float(rows[0][name]) for name in ("judged", "all_no", "all_yes")] == pytest.approx(
        [of["judged"], no, yes]
    )
