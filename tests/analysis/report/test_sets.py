"""Reports on sets of codes, and on a scale of many numbers, from labels files and a campaign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tandem
from analysis.release.headline import compute_headline, headline_from_report
from annotation.answers.submission import submit
from annotation.models import Label
from tandem.crosscheck import process
from tandem.files.rows import InputError
from tandem.formats import FORMATS
from tandem.labels.file.frames import file_frame
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tests.analysis.conftest import run
from tests.cast import write_lines
from tests.several_cast import make_issues_study

JSON = dict[str, Any]
A, B, AB, C = ["a"], ["b"], ["a", "b"], ["c"]


def lines(variable: str, **given: list[Any]) -> list[JSON]:
    """Labels by rater, of a unit in each of several queries; `judge` is one."""
    return [
        {
            "item": f"i{n}",
            "unit": "u",
            "query": f"q{n}",
            "system": f"s{n % 2}",
            "variable": variable,
            "rater": rater,
            "rater_kind": "judge" if rater == "judge" else "human",
            "value": value,
        }
        for rater, values in given.items()
        for n, value in enumerate(values)
        if value is not None
    ]


def report(folder: Path, rows: list[JSON], **options: Any) -> JSON:
    path = write_lines(folder / "labels.jsonl", rows)
    found: JSON = tandem.report(path, resamples=5, **options).json
    return found


SETS = {"ada": [A, A, C, []], "ben": [A, AB, C, []], "judge": [A, B, C, A]}


@pytest.fixture
def of_sets(tmp_path: Path) -> JSON:
    return report(tmp_path, lines("errors", **SETS))


def test_labels_that_are_all_lists_are_sets_of_codes(of_sets: JSON) -> None:
    block = of_sets["variables"]["errors"]
    assert block["measurement"] == "set"
    assert block["codes"] == ["a", "b", "c"]
    assert block["categories"] == ["[]", '["a"]', '["b"]', '["c"]', '["a", "b"]']
    assert block["coefficient"] == "cohen_kappa_masi"


def test_alpha_of_people_is_that_of_the_masi_distance(of_sets: JSON) -> None:
    """Only {a} and {a, b} differ, by 2/3: twice 2/3 observed, N = 8.

    Over ordered pairs of {a} x 3, {a, b}, {c} x 2, {} x 2 the distances sum to
    2 (3 * 2/3 + 3 * 2 + 3 * 2 + 2 + 2 + 2 * 2) = 44.
    """
    alpha = of_sets["variables"]["errors"]["agreement"]["krippendorff_alpha"]
    assert alpha["value"] == pytest.approx(1 - 7 * (4 / 3) / 44)


def test_coefficients_that_do_not_apply_to_sets_say_why(of_sets: JSON) -> None:
    agreement = of_sets["variables"]["errors"]["agreement"]
    assert agreement["percent"]["value"] == 0.75
    for name in ("randolph_kappa", "gwet_ac"):
        assert "number of categories" in agreement[name]["reason"]
    judge = of_sets["variables"]["errors"]["judges"]["judge"]
    assert judge["confusion"]["matrix"] == []
    assert "code by code" in judge["overall"]["macro_f1"]["reason"]
    assert (
        "sets of codes overlap" in judge["alt_test"]["balanced"]["reason"]
        or (judge["alt_test"]["reason"])
    )


def test_each_code_is_compared_as_a_yes_or_no(of_sets: JSON) -> None:
    a, b = (of_sets["variables"]["errors"]["by_code"][code] for code in "ab")
    assert {who: each["value"] for who, each in a["prevalence"].items()} == {
        "ada": 0.5,
        "ben": 0.5,
        "judge": 0.5,
    }
    assert a["agreement"]["percent"]["value"] == 1
    # People say a on the first two units; the judge on the first and the last.
    judge = a["judges"]["judge"]
    assert (judge["people"], judge["missed"], judge["added"], judge["units"]) == (2, 1, 1, 4)
    assert (judge["precision"]["value"], judge["recall"]["value"]) == (0.5, 0.5)
    # People tie on whether the second unit has b.
    assert b["judges"]["judge"]["units"] == 3


def test_the_verdict_names_the_codes_that_a_judge_misses_and_adds(of_sets: JSON) -> None:
    errors = of_sets["verdict"]["variables"]["errors"]["judges"]["judge"]["errors"]
    assert "misses “a” most often, on 1 of the 2 units with it" in errors["text"]
    assert "adds “a” most often" in errors["text"]


def test_systems_have_the_share_of_each_code(of_sets: JSON) -> None:
    assert list(of_sets["scores"]) == ["errors: a", "errors: b", "errors: c"]
    shares = of_sets["scores"]["errors: a"]["systems"]
    # The first system has the units 0 and 2, the other one 1 and 3.
    assert shares["s0"]["mean"]["value"] == 0.5
    assert shares["s1"]["judge"]["value"] == 0.5


@pytest.mark.long
def test_other_libraries_compute_alpha_and_kappa_of_sets_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "IS_ON", True)
    path = write_lines(tmp_path / "labels.jsonl", lines("errors", **SETS))
    check = labels_report([path], {}, ReportOptions(resamples=2))["check"]
    assert (check["state"], check["differs"]) == ("equal", [])


@pytest.mark.parametrize("text", ['["a","b"]', '[ "b", "a" ]'])
def test_a_set_may_be_written_in_any_order_and_spacing(tmp_path: Path, text: str) -> None:
    rows = lines("errors", ada=[text, A], ben=[AB, A])
    agreement = report(tmp_path, rows)["variables"]["errors"]["agreement"]
    assert agreement["percent"]["value"] == 1


def test_a_table_of_text_may_hold_sets(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = [f'i{n},u,errors,{who},"[""a"", ""b""]"' for n in range(2) for who in ("ada", "ben")]
    path.write_text("item,unit,variable,rater,value\n" + "\n".join(rows) + "\n", "utf-8")
    assert tandem.report(path, resamples=2).json["variables"]["errors"]["codes"] == ["a", "b"]


def test_a_declared_scale_of_sets_has_an_order_and_escapes(tmp_path: Path) -> None:
    rows = lines("errors", ada=[A, AB, "cannot-tell"], ben=[A, B, A])
    block = report(tmp_path, rows, scales={"errors": "b,a,d:set"})["variables"]["errors"]
    assert block["codes"] == ["b", "a", "d"]
    assert block["categories"] == ['["b"]', '["a"]', '["b", "a"]']
    assert block["escapes"] == {"cannot-tell": 1}
    assert block["scale"] == {"declared": True, "distances": None, "unused": ["d"]}


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("a", r'write a list: \["a"\]'), (C, r"not on its scale \(a, b\)")],
)
def test_what_is_no_set_of_the_declared_codes_is_refused(
    tmp_path: Path, value: Any, wrong: str
) -> None:
    path = write_lines(tmp_path / "labels.jsonl", lines("errors", ada=[A, value]))
    with pytest.raises(InputError, match=wrong):
        tandem.report(path, scales={"errors": "a,b:set"})


def test_the_level_may_be_nominal_though_all_labels_are_lists(tmp_path: Path) -> None:
    block = report(tmp_path, lines("errors", **SETS), levels={"errors": "nominal"})
    assert block["variables"]["errors"]["measurement"] == "nominal"


def test_empty_sets_alone_agree_without_variation(tmp_path: Path) -> None:
    rows = lines("errors", ada=[[], []], ben=[[], []], judge=[[], []])
    agreement = report(tmp_path, rows)["variables"]["errors"]["agreement"]
    assert agreement["percent"]["value"] == 1
    assert agreement["krippendorff_alpha"]["reason"] == "all labels are the same category"


NUMBERS = {
    "ada": [10, 55, 90, 0, 70, 30],
    "ben": [12, 50, 95, 5, 60, 20],
    "judge": [20, 60, 100, 10, 80, 40],
}


@pytest.fixture
def of_numbers(tmp_path: Path) -> JSON:
    texts = {who: [str(n) for n in given] for who, given in NUMBERS.items()}
    codes = ",".join(map(str, range(101)))
    return report(
        tmp_path, lines("helpfulness", **texts), scales={"helpfulness": f"{codes}:interval"}
    )


def test_a_scale_of_many_numbers_has_means_instead_of_coefficients_of_categories(
    of_numbers: JSON,
) -> None:
    block = of_numbers["variables"]["helpfulness"]
    means = block["distribution"]["means"]
    assert means["ada"]["value"] == pytest.approx(sum(NUMBERS["ada"]) / 6)
    agreement, judge = block["agreement"], block["judges"]["judge"]
    assert agreement["krippendorff_alpha"]["value"] > 0.9
    assert agreement["pairs"][0]["cohen_kappa_quadratic"]["value"] > 0.9
    assert agreement["pairs"][0]["pearson"]["value"] > 0.9
    assert "over 60 different values" in agreement["fleiss_kappa"]["reason"]
    assert (judge["confusion"]["matrix"], judge["thresholds"]) == ([], [])
    errors = [abs(j - (a + b) / 2) for a, b, j in zip(*NUMBERS.values(), strict=True)]
    assert judge["overall"]["mean_absolute_error"]["value"] == pytest.approx(sum(errors) / 6)


def test_its_labels_are_shown_by_range(of_numbers: JSON) -> None:
    text = FORMATS["md"].render(of_numbers)
    assert "0 to 9" in text
    assert "90 to 100" in text
    assert "101 categories from 0 to 100" in text
    assert max(len(line) for line in text.splitlines() if line.startswith("|")) < 300


def test_a_judges_error_is_stated_without_a_table(of_numbers: JSON) -> None:
    errors = of_numbers["verdict"]["variables"]["helpfulness"]["judges"]["judge"]["errors"]
    assert "away from them on average" in errors["text"]


def test_systems_have_the_mean_within_the_scale(of_numbers: JSON) -> None:
    score = of_numbers["scores"]["mean helpfulness"]
    assert (score["about"], score["bounds"]) == (["helpfulness"], [0, 100])
    first = [(a + b) / 2 for a, b in zip(NUMBERS["ada"][::2], NUMBERS["ben"][::2], strict=True)]
    assert score["systems"]["s0"]["mean"]["value"] == pytest.approx(sum(first) / 3)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_sets_and_numbers(of_sets: JSON, of_numbers: JSON, name: str) -> None:
    sets, numbers = (FORMATS[name].render(each) for each in (of_sets, of_numbers))
    assert "errors" in str(sets)
    assert "helpfulness" in str(numbers)


def test_a_release_recomputes_its_headline_numbers_of_sets(tmp_path: Path, of_sets: JSON) -> None:
    path = write_lines(tmp_path / "again.jsonl", lines("errors", **SETS))
    frame, _ = file_frame([path], {"errors": "set"})
    ours, theirs = compute_headline(frame, of_sets), headline_from_report(of_sets)
    assert ours.keys() == theirs.keys()
    for name, of in theirs.items():
        assert ours[name] == pytest.approx(of, nan_ok=True)


@pytest.mark.django_db
def test_a_campaign_with_several_codes_and_a_scale_has_a_report_in_every_format(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = make_issues_study(monkeypatch)
    boat = "verdreht–ö 🛶"
    answers: tuple[JSON, ...] = (
        {"issues": [boat, "left-out"], "harm": "35"},
        {"issues": [], "harm": None},
        {"issues": "cannot-tell", "harm": None},
    )
    others: tuple[JSON, ...] = (
        {"issues": [boat], "harm": "40"},
        {"issues": [], "harm": None},
        answers[2],
    )
    for person, given in ((study.ada, answers), (study.ben, others)):
        units: JSON = {f"q:{n}": {**each, "evidence": []} for n, each in enumerate(given)}
        submit(study.assignment(person), {"units": units, "comment": None}, "page")
    assert Label.objects.count() == 8
    found = json.loads(run("report", "--campaign", "Issues", "--resamples", "2"))
    issues, harm = (found["variables"][name] for name in ("issues", "harm"))
    assert (issues["measurement"], harm["measurement"]) == ("set", "interval")
    assert issues["codes"] == ["made-up", "left-out", boat]
    assert issues["escapes"] == {"cannot-tell": 2}
    assert issues["words"][json.dumps(["left-out", boat], ensure_ascii=False)] == (
        "Left out + Twisted 🛶"
    )
    shares = [of["value"] for of in issues["by_code"]["left-out"]["prevalence"].values()]
    assert sorted(shares) == [0, 0.5]
    for name in FORMATS:
        assert run("report", "--campaign", "Issues", "--resamples", "2", "--format", name)
