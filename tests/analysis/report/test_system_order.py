"""Whether a judge ranks answers as people do is decided within queries: difficulty cancels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from scipy import stats

import tandem
from annotation.models import Campaign, User
from tandem.formats import FORMATS
from tandem.labels.file.frames import file_frame
from tandem.labels.people_sample import PeopleSample
from tandem.labels.selection import ReportOptions
from tandem.sections.build import frame_report
from tandem.sections.contents import score_blocks
from tandem.sections.score_sentences import order_in_words
from tandem.statistics import holm
from tandem.types import JSON
from tests.analysis import order_cast
from tests.analysis.order_cast import JUDGE, PEOPLE, Study, study
from tests.cast import campaign_of, load, run, write_lines


@cache
def report_of(judge: Callable[..., Any], **options: Any) -> JSON:
    return dict(tandem.report(study(judge, **options).labels(), resamples=60).json)


def order(report: Mapping[str, Any], judge: str = JUDGE) -> JSON:
    found: JSON = report["scores"]["coverage"]["order"]["judges"][judge]
    return found


def said(report: Mapping[str, Any], judge: str = JUDGE) -> JSON:
    found: JSON = report["verdict"]["scores"]["coverage"]["judges"][judge]
    return found


JUDGES: dict[Callable[..., Any], tuple[str, str]] = {
    order_cast.reverses: ("No, rather the reverse", "poor"),
    order_cast.throws_a_coin: ("Not shown to be better than chance", "poor"),
    order_cast.says_yes: ("No, it ties every pair", "poor"),
    order_cast.sees_difficulty_alone: ("No, it ties every pair", "poor"),
    order_cast.copies_ada: ("Yes", "good"),
    order_cast.is_as_good_as_people: ("Yes", "good"),
    order_cast.is_worse_than_people: ("Less well than people do", "poor"),
}


@pytest.mark.first_case
@pytest.mark.parametrize("systems", [4, 7])
@pytest.mark.parametrize("judge", JUDGES, ids=lambda each: each.__name__)
def test_a_judge_ranks_as_people_do_only_if_it_orders_systems_within_queries(
    judge: Callable[..., Any], systems: int
) -> None:
    report = report_of(judge, systems=systems)
    assert (said(report)["answer"], said(report)["tone"]) == JUDGES[judge]
    within = order(report)["within_queries"]
    assert f"orders alike {within['value']:.2f} [{within['low']:.2f}, " in said(report)["text"]


def test_a_judge_that_reverses_all_systems_does_not_rank_as_people_do() -> None:
    report = report_of(order_cast.reverses)
    of = report["scores"]["coverage"]
    # By the correlation over all answers it ranked "mostly" as people do.
    assert of["correlation"][JUDGE]["mean"]["spearman"]["value"] > 0.7
    assert order(report)["within_queries"]["high"] < 0.5
    found = order(report)["findings"]
    assert found["both_opposite"] >= 3
    assert found["both_alike"] == found["untested"] == 0
    assert "0 the same way and 3 in opposite ways" in said(report)["text"]
    assert "ρ" not in said(report)["text"]


def test_a_judge_whose_scores_all_tie_has_one_half_and_the_sentence_says_why() -> None:
    report = report_of(order_cast.says_yes)
    of = order(report)
    assert of["within_queries"]["value"] == 0.5
    assert of["counts"]["tied"] == of["counts"]["scored"] > 200
    assert "; it ties all of them, each counted as one half" in said(report)["text"]
    assert of["findings"]["people_only"] == 3
    assert of["findings"]["judge_only"] == of["findings"]["untested"] == 0


def test_the_share_is_that_of_pairs_which_people_order_within_a_query() -> None:
    report = report_of(order_cast.is_worse_than_people)
    values: dict[str, dict[str, dict[str, float]]] = {}
    for item in report["scores"]["coverage"]["items"]:
        values.setdefault(item["query"], {})[item["system"]] = item["values"]
    shares, people = [], []
    for of in values.values():
        counted: list[tuple[float, float]] = []
        own: list[tuple[float, float]] = []
        for a, b in combinations(of.values(), 2):
            apart = {name: round(a[name] - b[name], 12) for name in a}
            if mean := round(sum(apart[name] for name in PEOPLE), 12):
                counted.append((np.sign(mean), np.sign(apart[JUDGE])))
            rests = {
                name: round(sum(apart[other] for other in PEOPLE if other != name), 12)
                for name in PEOPLE
            }
            own += [(np.sign(rest), np.sign(apart[n])) for n, rest in rests.items() if rest]
        if counted:
            shares.append(np.mean([(1 + x * y) / 2 for x, y in counted]))
        if own:
            people.append(np.mean([(1 + x * y) / 2 for x, y in own]))
    found = order(report)
    assert found["within_queries"]["value"] == pytest.approx(np.mean(shares))
    assert found["counts"]["queries"] == len(shares)
    assert found["people_with_others"]["value"] == pytest.approx(np.mean(people))
    gap = found["with_others"]["value"] - found["people_with_others"]["value"]
    assert found["gap"]["value"] == pytest.approx(gap)
    humans = report["scores"]["coverage"]["order"]["humans"]
    assert humans["within_queries"]["value"] == found["people_with_others"]["value"]
    assert set(humans["raters"]) == set(PEOPLE)


def test_pairs_of_systems_are_classed_by_the_tests_of_people_and_judge_after_holm() -> None:
    report = report_of(order_cast.is_worse_than_people)
    of = order(report)
    assert len(of["pairs"]) == sum(of["findings"].values()) == 6
    for who in ("humans", "judge"):
        p = [pair[who]["p_value"] for pair in of["pairs"]]
        adjusted = [pair[who]["adjusted_p_value"] for pair in of["pairs"]]
        assert adjusted == pytest.approx(list(holm(np.array(p))))
    comparisons = report["scores"]["coverage"]["comparisons"]
    assert [pair["humans"]["p_value"] for pair in of["pairs"]] == [
        each["paired_t"]["p_value"] for each in comparisons
    ]
    for pair in of["pairs"]:
        sure = {
            who: pair[who]["adjusted_p_value"] < 0.05 and np.sign(pair[who]["difference"]["value"])
            for who in ("humans", "judge")
        }
        same = "both_alike" if sure["humans"] == sure["judge"] else "both_opposite"
        expected = {
            (True, True): same, (True, False): "people_only", (False, True): "judge_only",
            (False, False): "neither",
        }  # fmt: skip
        assert pair["finding"] == expected[bool(sure["humans"]), bool(sure["judge"])]
    assert of["findings"]["people_only"] == 2
    assert "people alone 2, the judge alone 0 (after Holm)" in said(report)["text"]


def test_from_six_systems_on_the_order_of_the_means_is_stated_by_tau() -> None:
    report = report_of(order_cast.is_worse_than_people, systems=7)
    of, systems = order(report), report["scores"]["coverage"]["systems"]
    means = [[by[who]["value"] for by in systems.values()] for who in ("mean", JUDGE)]
    assert of["kendall"]["value"] == pytest.approx(stats.kendalltau(*means).statistic)
    assert of["tau_ap"]["value"] is not None
    assert f"; τ-b of the 7 systems {of['kendall']['value']:.2f} [" in said(report)["text"]
    assert f", τ-AP {of['tau_ap']['value']:.2f}" in said(report)["text"]
    few = order(report_of(order_cast.is_worse_than_people))
    for name in ("kendall", "tau_ap"):
        assert few[name]["value"] is None
        assert few[name]["reason"] == "fewer than six systems; the pairs of systems say more"


def test_of_one_system_there_is_no_order() -> None:
    report = report_of(order_cast.is_as_good_as_people, systems=1)
    reason = "no query has two systems that people's scores order"
    assert order(report)["within_queries"]["reason"] == reason
    assert order(report)["pairs"] == []
    assert (said(report)["answer"], said(report)["tone"]) == ("Not known", "open")
    assert said(report)["text"] == f"Not known: {reason}"


def test_with_one_person_the_judge_is_compared_with_chance_alone() -> None:
    report = report_of(order_cast.is_as_good_as_people, people=("ada",))
    of = order(report)
    for name in ("gap", "people_with_others", "with_others"):
        assert (of[name]["value"], of[name]["low"]) == (None, None)
        assert of[name]["reason"] == "no query has two systems that two people scored"
    assert of["gap_test"]["reason"] == of["gap"]["reason"]
    assert said(report)["answer"] == "Better than chance"
    assert f"; not compared with people: {of['gap']['reason']}" in said(report)["text"]


def test_below_ten_queries_the_answer_is_that_of_the_value_alone() -> None:
    report = report_of(order_cast.is_as_good_as_people, queries=8)
    assert order(report)["within_queries"]["low"] is None
    assert said(report)["answer"].endswith(", by the value alone")
    assert said(report)["tone"] == "open"


def test_a_system_missing_on_some_queries_leaves_out_its_pairs_there() -> None:
    def left_out(query: int, system: int) -> bool:
        return query % 4 == system or (query == 5 and system != 0)

    report = report_of(order_cast.is_as_good_as_people, left_out=left_out)
    of = order(report)
    whole = order(report_of(order_cast.is_as_good_as_people))
    # Three pairs of systems remain on every query, and none on query 5.
    assert of["counts"]["ordered"] < 40 * 3 < whole["counts"]["ordered"]
    assert of["counts"]["queries"] <= 39
    assert {pair["queries"] for pair in of["pairs"]} <= {19, 20, 21}
    assert said(report)["answer"] == "Yes"


def test_a_pair_on_which_the_judge_failed_is_left_out_and_never_counts_as_a_tie() -> None:
    lines = study(order_cast.copies_ada, people=("ada",)).labels()
    lost = [
        {**line, "missing": "unreadable", "value": None}
        if line["rater"] == JUDGE and line["item"].endswith("/s0")
        else line
        for line in lines
    ]
    of = order(tandem.report(lost, resamples=60).json)
    assert of["counts"]["scored"] == of["counts"]["alike"] < of["counts"]["ordered"]
    assert (of["counts"]["tied"], of["within_queries"]["value"]) == (0, 1)
    assert [pair["finding"] for pair in of["pairs"] if pair["a"] == "s0"] == ["untested"] * 3


def test_several_judges_are_told_from_chance_and_from_people_after_holm() -> None:
    judges = {f"judge{n}": order_cast.throws_a_coin for n in range(5)}
    judges |= {"good": order_cast.is_as_good_as_people}
    report = tandem.report(Study(judges, people=("ada", "bram")).labels(), resamples=60).json
    found = report["scores"]["coverage"]["order"]["judges"]
    assert set(found) == set(judges)
    for name in ("chance_test", "gap_test"):
        p = np.array([of[name]["p_value"] for of in found.values()])
        adjusted = [of[name]["adjusted_p_value"] for of in found.values()]
        assert adjusted == pytest.approx(list(holm(p)))
    assert said(report, "good")["answer"] == "Yes"
    coins = {said(report, name)["answer"] for name in judges if name != "good"}
    assert coins == {"Not shown to be better than chance"}


def block(
    share: tuple[float, float | None, float | None],
    gap: tuple[float | None, float | None, float | None] = (0.0, -0.05, 0.05),
    opposite: int = 0,
    chance: float = 0.001,
    behind: float = 0.001,
    tied: int = 0,
) -> JSON:
    keys = ("value", "low", "high")
    return {
        "within_queries": dict(zip(keys, share, strict=True)),
        "gap": dict(zip(keys, gap, strict=True)),
        "counts": {"tied": tied, "scored": 100},
        "findings": {"both_opposite": opposite},
        "chance_test": {"adjusted_p_value": chance},
        "gap_test": {"adjusted_p_value": behind},
    }


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (block((0.8, 0.7, 0.9), behind=0.9), "Yes"),
        (block((0.8, 0.7, 0.9), (-0.05, -0.09, -0.01)), "Nearly"),
        (block((0.8, 0.7, 0.9), (-0.05, -0.09, -0.01), behind=0.06), "Yes"),
        (block((0.8, 0.7, 0.9), (-0.2, -0.3, -0.1)), "Less well than people do"),
        (
            block((0.8, 0.7, 0.9), (-0.2, -0.3, -0.1), behind=0.06),
            "No difference from people can be shown",
        ),
        (
            block((0.8, 0.7, 0.9), (0.0, -0.12, 0.12), behind=0.9),
            "No difference from people can be shown",
        ),
        (block((0.8, 0.7, 0.9), behind=0.9, opposite=1), "Not for every pair of systems"),
        (block((0.55, 0.49, 0.61)), "Not shown to be better than chance"),
        (block((0.56, 0.51, 0.61), chance=0.06), "Not shown to be better than chance"),
        (block((0.4, 0.31, 0.49)), "No, rather the reverse"),
        (block((0.4, 0.31, 0.49), chance=0.06), "Not shown to be better than chance"),
        (block((0.8, 0.7, 0.9), (None, None, None)), "Better than chance"),
        (block((0.5, 0.5, 0.5), tied=100), "No, it ties every pair"),
        (block((0.5, None, None)), "No better than chance, by the value alone"),
        (block((0.4, None, None)), "Rather the reverse, by the value alone"),
        (block((0.7, None, None), (None,) * 3), "Better than chance, by the value alone"),
        (
            block((0.7, None, None), (-0.1, None, None)),
            "Less well than people do, by the value alone",
        ),
        (
            block((0.7, None, None), (-0.004, None, None)),
            "As well as people do, by the value alone",
        ),
    ],
)  # fmt: skip
def test_the_first_words_follow_from_interval_gap_and_pairs(of: JSON, words: str) -> None:
    assert order_in_words(of)[0] == words


def partly_labelled(judge: Callable[..., Any]) -> Study:
    return study(judge, queries=60, by_judge_alone=range(25, 60))


def test_the_verdict_states_the_prediction_powered_difference_of_the_best_two(
    tmp_path: Path,
) -> None:
    labels = partly_labelled(order_cast.is_as_good_as_people).labels()
    frame, _ = file_frame([write_lines(tmp_path / "labels.jsonl", labels)], {})
    head = {"campaign": None, "protocol": None, "batch": None}
    options = ReportOptions(resamples=20)
    sample = PeopleSample(frozenset(f"q{n:02}" for n in range(25)))
    report = frame_report(head, frame, options, ["answerable"], sample, check=False)
    means = report["scores"]["coverage"]["systems"]
    first, second = sorted(means, key=lambda each: -means[each]["mean"]["value"])[:2]
    (pair,) = (p for p in order(report)["pairs"] if {p["a"], p["b"]} == {first, second})
    of = pair["prediction_powered"]
    assert of["difference"]["method"].startswith("PPI++")
    assert of["difference"]["n"] == 25
    value = abs(of["difference"]["value"])
    text = said(report)["text"]
    assert f"(prediction-powered) {first} is {value:.2f} [" in text
    assert re.search(rf"\] above {second}, p [\d<. ]+ after Holm$", text)


def test_without_a_random_sample_there_is_no_prediction_powered_difference() -> None:
    labels = partly_labelled(order_cast.is_as_good_as_people).labels()
    report = tandem.report(labels, resamples=20).json
    for pair in order(report)["pairs"]:
        assert pair["prediction_powered"]["difference"]["value"] is None
        assert "not a random sample" in pair["prediction_powered"]["reason"]
    assert "prediction-powered" not in said(report)["text"]
    for pair in order(report_of(order_cast.is_as_good_as_people))["pairs"]:
        assert "without people's labels" in pair["prediction_powered"]["reason"]


def test_every_key_of_the_sentence_is_found_in_the_report() -> None:
    report = report_of(order_cast.reverses, systems=7)
    keys = [part["key"] for part in said(report)["parts"] if "key" in part]
    assert len(keys) > 6
    for key in keys:
        place: Any = report
        for name in key:
            place = place[name]


def test_the_correlation_over_all_answers_says_that_it_includes_difficulty() -> None:
    blocks = {each.title: each for each in score_blocks(report_of(order_cast.reverses), "coverage")}
    (table,) = blocks["Correlation over all answers"].tables
    assert table.caption == "Raters in pairs: scores over all answers, query difficulty included"
    assert table.header == ("Raters", "Spearman", "Kendall")


def test_the_tables_of_the_order_list_the_better_system_first() -> None:
    blocks = {each.title: each for each in score_blocks(report_of(order_cast.reverses), "coverage")}
    *_, people, pairs = blocks["Order of systems"].tables
    assert [row[0] for row in people.rows][-1] == "each person in turn"
    assert [row[0] for row in pairs.rows][:3] == ["s3 – s2", "s3 – s1", "s3 – s0"]
    assert pairs.rows[2][1] == "Both, opposite ways"
    assert pairs.rows[2][2].value > 0 > pairs.rows[2][4].value  # type: ignore[union-attr, operator]


def test_of_many_pairs_a_table_shows_those_on_which_people_and_judge_differ() -> None:
    report = report_of(order_cast.is_worse_than_people, systems=9, queries=20)
    blocks = {each.title: each for each in score_blocks(report, "coverage")}
    pairs = blocks["Order of systems"].tables[-1]
    assert len(pairs.rows) == 30
    assert pairs.caption.endswith("of 36 the 30 on which people and judge differ most")
    differ = sum(n for name, n in order(report)["findings"].items() if name.endswith("_only"))
    assert sum(str(row[1]).endswith(" only") for row in pairs.rows) == differ > 0


@pytest.mark.django_db
@pytest.mark.first_case
@pytest.mark.parametrize("judge", [order_cast.reverses, order_cast.is_as_good_as_people])
def test_a_campaign_says_the_same_in_every_format_and_on_its_page(
    tmp_path: Path, judge: Callable[..., Any]
) -> None:
    made = study(judge)
    load(tmp_path, made.batch())
    campaign: Campaign = campaign_of("report-coverage")
    run("import_labels", write_lines(tmp_path / "l.jsonl", made.labels()), "--campaign", "c")
    report = json.loads(run("report", "--campaign", "c", "--resamples", "20"))
    expected = {order_cast.reverses: "No, rather the reverse"}.get(judge, "Yes")
    assert said(report)["answer"] == expected
    share = order(report)["within_queries"]["value"]
    for name, form in FORMATS.items():
        text = form.render(report)
        exact = name in ("json", "csv")
        assert (repr(share) if exact else f"{share:.3f}") in text, name
        assert exact or expected in text, name
        assert exact or "query difficulty included" in text, name
    client = Client()
    client.force_login(User.objects.create(username="r", role="researcher"))
    page = client.get(f"/campaigns/{campaign.pk}/results/").content.decode()
    assert expected in page
    assert f"{share:.3f}" in page
    assert "scores over all answers, query difficulty included" in page
