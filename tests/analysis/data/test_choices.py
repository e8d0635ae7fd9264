"""The options of a report that a reader chooses, in its address and by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.http import QueryDict

from analysis.forms import ReportForm
from annotation.models import Campaign
from tandem.formats import FORMATS
from tandem.labels.metadata import length_strata, meta_strata
from tandem.labels.selection import (
    AvailableValues,
    ReportOptions,
    UnknownOptionError,
    available_values,
)
from tests.analysis.cast import JUDGE, fact, table
from tests.analysis.conftest import run
from tests.analysis.test_report_page import logged_in

FACTS = [
    *table({"ada": "yn", "bram": "yy", JUDGE: "nn", "nemo": "yn"}, system="bm25"),
    *table({"ada": "13"}, "rating", system="dense"),
]
DOMAINS = {"domain": {"r0": "law"}}
OFFERED = available_values(FACTS, DOMAINS)


def kept(**chosen: Any) -> list[tuple[str, str, str]]:
    facts = ReportOptions(**chosen).select(FACTS, DOMAINS)
    return [(f.variable, f.rater, f.system or "") for f in facts]


def test_without_options_all_labels_are_used() -> None:
    assert len(kept()) == len(FACTS)


def test_raters_are_chosen_by_name_or_kind_and_judges_by_their_own_names() -> None:
    assert {r for _, r, _ in kept(raters=("ada", "judge"))} == {"ada", JUDGE}
    assert {r for _, r, _ in kept(raters=("judge",))} == {JUDGE}
    assert {r for _, r, _ in kept(raters=("ada",), judges=(JUDGE,))} == {"ada", JUDGE}
    assert {r for _, r, _ in kept(judges=("another",))} == {"ada", "bram", "nemo"}


def test_choosing_people_keeps_all_judges() -> None:
    assert {r for _, r, _ in kept(raters=("ada",))} == {"ada", JUDGE}
    assert {r for _, r, _ in kept(raters=("human",))} == {"ada", "bram", "nemo", JUDGE}
    another = fact("r0", "q0", "another", "yes", rater_kind="judge")
    taken = ReportOptions(raters=("ada", "another")).select([*FACTS, another], DOMAINS)
    assert {f.rater for f in taken} == {"ada", "another"}


def test_values_of_one_stratum_are_united_and_strata_are_intersected() -> None:
    both = (("system", "bm25"), ("system", "dense"))
    assert len(kept(strata=both)) == len(FACTS)
    assert {v for v, _, _ in kept(strata=(("system", "dense"),))} == {"rating"}
    assert kept(strata=(("system", "bm25"), ("domain", "medicine"))) == []
    assert len(kept(strata=(("system", "dense"), ("domain", "law")))) == 2


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        (
            {"variables": ("mood",)},
            "There is no variable 'mood' here; there are answerable, rating.",
        ),
        ({"raters": ("zoe",)}, "There is no rater 'zoe'"),
        ({"judges": ("ada",)}, f"There is no judge 'ada' here; there are {JUDGE}."),
        ({"strata": (("system", "x"),)}, "no stratum 'system:x'"),
        ({"threshold": 2.0}, "No rating can be cut at 2; there are 1, 3."),
    ],
)
def test_an_option_that_names_something_unknown_is_refused(chosen: Any, says: str) -> None:
    with pytest.raises(UnknownOptionError) as error:
        OFFERED.check(ReportOptions(**chosen))
    assert says in str(error.value)


def form(query: str, offered: AvailableValues = OFFERED) -> ReportForm:
    return ReportForm(QueryDict(query), offered)


def test_an_address_without_options_gives_the_defaults() -> None:
    found = form("seed=&variable=")
    assert found.is_valid(), found.problems()
    assert found.options == ReportOptions()


def test_fields_of_the_form_show_the_defaults() -> None:
    shown = {name: form("")[name].value() for name in ("seed", "epsilon", "width", "bootstrap")}
    assert shown == {"seed": "0", "epsilon": "0.2", "width": "0.1", "bootstrap": "queries"}
    assert form("")["resamples"].value() is None


def test_an_address_can_set_every_option() -> None:
    query = (
        "variable=rating&rater=ada&rater=bram&judge=model&stratum=system:bm25&seed=4&resamples=9"
        "&epsilon=0.1&threshold=3&assisted=on&width=0.05"
    )
    found = form(query)
    assert found.is_valid(), found.problems()
    assert found.options == ReportOptions(
        4, 9, 0.1, True, 3.0, ("rating",), ("ada", "bram"), ("model",), (("system", "bm25"),),
        0.05,
    )  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("seed=-1", "Seed must be a whole number of at least 0."),
        ("resamples=0", "Resamples must be a whole number from 1 to 10000."),
        ("resamples=10001", "Resamples must be a whole number from 1 to 10000."),
        ("epsilon=2", "Epsilon must be a number from 0 to 1."),
        ("epsilon=nan", "Epsilon must be a number from 0 to 1."),
        ("width=0", "Interval to plan for must be a number from 0.001 to 1."),
        ("threshold=high", "Cut ratings at must be a number."),
        ("rater=zoe", "There is no rater 'zoe'"),
        ("varaible=rating", "There is no option 'varaible'"),
    ],
)
def test_an_invalid_address_gives_a_message(query: str, says: str) -> None:
    assert any(says in problem for problem in form(query).problems())


def test_lengths_are_divided_into_tertiles_and_equal_ones_stay_together() -> None:
    nine = {f"r{n}": n for n in range(9)}
    assert list(length_strata(nine).values()) == ["short"] * 3 + ["middle"] * 3 + ["long"] * 3
    assert set(length_strata({"a": 5, "b": 5, "c": 5}).values()) == {"short"}
    assert length_strata({}) == {}


def test_meta_keys_with_several_but_not_too_many_values_become_strata() -> None:
    metas = [("a", {"domain": "law", "year": 1}), ("b", {"domain": "art", "year": 2}), ("c", None)]
    assert meta_strata(metas) == {"domain": {"a": "law", "b": "art"}}
    assert meta_strata([("a", {"domain": "law"}), ("b", {"domain": "law"})]) == {}
    assert meta_strata((str(n), {"domain": str(n)}) for n in range(31)) == {}


@pytest.fixture
def with_meta(tmp_path: Path) -> Path:
    path = tmp_path / "labels.jsonl"
    rows = [
        {
            "item": f"i{n}",
            "unit": f"i{n}",
            "variable": "mood",
            "value": "ab"[n % 2],
            "rater": rater,
            "meta": {"domain": ("law", "art")[n % 4 // 2]},
        }
        for n in range(8)
        for rater in ("Ada", "Bram")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_the_command_can_select_strata_from_the_meta_of_a_labels_file(
    with_meta: Path,
) -> None:
    whole = json.loads(run("report", "--labels", str(with_meta)))
    assert whole["variables"]["mood"]["strata"]["domain"]["law"]["agreement"]["units"] == 4
    law = json.loads(run("report", "--labels", str(with_meta), "--stratum", "domain:law"))
    assert law["variables"]["mood"]["agreement"]["units"] == 4
    assert law["choices"]["strata"] == {"domain": ["law"]}
    assert law["inputs"] == whole["inputs"]
    ada = json.loads(run("report", "--labels", str(with_meta), "--rater", "Ada"))
    assert [rater["name"] for rater in ada["raters"]] == ["Ada"]
    assert "only raters Ada" in run(
        "report", "--labels", str(with_meta), "--rater", "Ada", "--format", "md"
    )


@pytest.mark.every_case
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_states_the_options(with_meta: Path, name: str) -> None:
    chosen = ("--variable", "mood", "--rater", "human", "--stratum", "domain:law", "--seed", "7")
    made = run("report", "--labels", str(with_meta), *chosen, "--format", name)
    assert all(words in made for words in ("human", "law", "mood", "7"))


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--stratum", "law"), "is not NAME:VALUE"),
        (("--stratum", "domain:x"), "There is no stratum 'domain:x'"),
        (("--variable", "x"), "There is no variable 'x' here; there are mood."),
        (("--threshold", "3"), "nothing is rated by numbers"),
    ],
)
def test_a_wrong_option_is_refused_by_the_command(
    with_meta: Path, options: tuple[str, ...], says: str
) -> None:
    with pytest.raises(CommandError, match=says):
        run("report", "--labels", str(with_meta), *options)


@pytest.mark.django_db
def test_page_numbers_and_downloads_take_the_same_options(labelled: Campaign) -> None:
    client, start = logged_in("researcher"), f"/campaigns/{labelled.pk}/report"
    results = f"/campaigns/{labelled.pk}/results/"
    query = "?seed=3&resamples=50&epsilon=0.1&judge=model-x"
    page = client.get(f"{results}{query}").content.decode()
    assert "only judges model-x · epsilon 0.1" in page
    for address in (".json", ".csv"):
        assert f"{start}{address}?seed=3&amp;resamples=50&amp;epsilon=0.1&amp;judge=model-x" in page
    found = client.get(f"{start}.json{query}").json()
    assert (found["seed"], found["resamples"]) == (3, 50)
    assert found["choices"]["judges"] == ["model-x"]
    numbers = client.get(f"{results}{query}", headers={"HX-Request": "true"}).content.decode()
    assert "only judges model-x · epsilon 0.1" in numbers


@pytest.mark.django_db
def test_a_wrong_option_computes_nothing_and_is_reported_everywhere(labelled: Campaign) -> None:
    client, start = logged_in("researcher"), f"/campaigns/{labelled.pk}"
    for address in ("results/", "report.json"):
        answer = client.get(f"{start}/{address}?epsilon=7")
        assert answer.status_code == 422
        assert "Epsilon must be a number from 0 to 1." in answer.content.decode()
    assert "hx-get" not in client.get(f"{start}/results/?epsilon=7").content.decode()


@pytest.mark.django_db
def test_a_campaign_has_strata_by_meta_and_length(tmp_path: Path) -> None:
    lines = [
        {
            "id": f"q{n}",
            "text": "What?",
            "meta": {"domain": ("law", "art")[n % 2]},
            "questions": [{"id": f"q{n}:1", "text": "Who?"}],
            "reports": [{"id": f"r{n}", "text": "word " * (n + 1), "system": "s"}],
        }
        for n in range(6)
    ]
    path = tmp_path / "batch.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run("load_batch", str(path), "--name", "b")
    run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
    rows = [
        {
            "item": f"r{n}",
            "unit": f"q{n}:1",
            "kind": "question",
            "variable": "answerable",
            "value": "no",
            "rater": rater,
        }
        for n in range(6)
        for rater in ("Ada", "Bram")
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run("import_labels", str(labels), "--campaign", "c")
    strata = json.loads(run("report", "--campaign", "c"))["variables"]["answerable"]["strata"]
    assert {name: sorted(parts) for name, parts in strata.items()} == {
        "system": ["s"],
        "domain": ["art", "law"],
        "length": ["long", "middle", "short"],
    }
    assert list(strata["length"]) == ["short", "middle", "long"]
    assert strata["length"]["short"]["agreement"]["units"] == 2
    short = json.loads(run("report", "--campaign", "c", "--stratum", "length:short"))
    assert short["queries"] == 2
