"""The page of measures and their API: who may read them, with the numbers of the command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation import selection
from analysis.evaluation.rendering import FORMATS
from annotation.answers.submission import submit
from annotation.models import Campaign, User
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import EXAMPLE, label
from tests.analysis.test_report_page import logged_in
from tests.api.cast import script_of
from tests.cast import write_lines
from tests.databases import rolled_back
from tests.page_cast import client_of, make_study, payload

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def campaign(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Campaign]:
    """A campaign for the module, removed afterwards with its cached results."""
    folder = tmp_path_factory.mktemp("measures")
    labels = [label("o", f"q{n}", "answerable", "no") for n in range(10)]
    labels += [label("b", "q0", "answerable", "invalid"), label("b", "q1", "answerable", "no")]
    labels += [label(r, "q0", "answerable", "yes", "judge") for r in ("o", "b")]
    with rolled_back(django_db_blocker):
        run("load_batch", str(write_lines(folder / "batch.jsonl", [EXAMPLE])), "--name", "b")
        run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
        run("import_labels", str(write_lines(folder / "l.jsonl", labels)), "--campaign", "c")
        yield Campaign.objects.get()


def addresses(campaign: Campaign) -> list[str]:
    start = f"/campaigns/{campaign.pk}/measures"
    files = [f"{start}.{each.suffix}" for each in FORMATS.values()]
    return [results(campaign), f"{start}.zip", *files]


def results(campaign: Campaign, shown: str = "all") -> str:
    return f"/campaigns/{campaign.pk}/results/?measures={shown}"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("role", "status"), [("researcher", 200), ("admin", 200), ("annotator", 403)]
)
def test_only_researchers_and_admins_can_read_measures(
    campaign: Campaign, role: str, status: int
) -> None:
    client = logged_in(role)
    assert {client.get(a).status_code for a in addresses(campaign)} == {status}


def test_a_reader_with_an_open_item_sees_no_numbers() -> None:
    study = make_study(people=2)
    submit(study.assignment(study.ada), payload("no"), "page")
    study.assignment(study.rita)
    client = client_of(study.rita)
    page, *files = addresses(study.campaign)
    assert "answer it before you read" in client.get(page).content.decode()
    assert {client.get(a).status_code for a in files} == {403}
    answer = script_of(study.rita).get(f"campaigns/{study.campaign.pk}/measures/")
    assert answer.status_code == 403


def test_page_files_and_api_have_the_numbers_of_the_command(campaign: Campaign) -> None:
    client = logged_in("researcher")
    expected: dict[str, Any] = json.loads(run("measures", "--campaign", "c", "--preset", "crux"))
    start = f"/campaigns/{campaign.pk}/measures"
    found = json.loads(client.get(f"{start}.json?preset=crux").content)
    script = script_of(User.objects.get(username="researcher"))
    downloaded = script.get(f"campaigns/{campaign.pk}/measures/?preset=crux").json()
    for each in (expected, found, downloaded):
        del each["generated_at"]
    assert found == downloaded == expected
    page = client.get(results(campaign)).content.decode()
    assert re.search(r"Under people together.*A +oracle.*0\.000", page, re.DOTALL)
    assert "Under the judge judge, uncorrected" in page


def test_options_can_be_chosen_and_are_explained(campaign: Campaign) -> None:
    client = logged_in("researcher")
    start = f"/campaigns/{campaign.pk}/measures"
    frame = client.get(results(campaign)).content.decode()
    assert "the exponent of density" in frame.lower()
    assert '<span class="id">bounds</span> gives two figures' in frame
    assert "`" not in frame
    found = json.loads(client.get(f"{start}.json?eta=5&cuts=3").content)
    assert (found["options"]["eta"]["value"], found["options"]["cuts"]["value"]) == (5.0, [3])


def test_the_board_is_ordered_and_filtered_by_the_address(campaign: Campaign) -> None:
    client = logged_in("researcher")
    start = f"/campaigns/{campaign.pk}/measures"
    query = "?order=Length&system=oracle&measure=Length&measure=RougeL"
    found = json.loads(client.get(f"{start}.json{query}").content)
    assert list(found["measures"]) == ["RougeL", "Length"]
    part = {"HX-Request": "true", "HX-Target": "measures"}
    answer = client.get(f"/campaigns/{campaign.pk}/results/{query}", headers=part)
    page = answer.content.decode()
    assert page.startswith('<div id="measures"')
    assert 'aria-sort="descending"' in page
    assert "order=-Length" in page
    assert "bm25</th>" not in page


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("eta=nan", "finite number"),
        ("eta=x", "cannot be"),
        ("tokenizer=file:secret.json", "no option"),
        ("refusals=file:secret.toml", "secret.toml"),
        ("preset=mine", "Preset must be tandem or"),
        ("samples=100000", "at most 200"),
        ("cuts=1,2,3,4,5,6,7", "at most 6 numbers"),
        ("passages=ada@elsewhere", "ada@elsewhere"),
        ("resamples=99999", "10000"),
        ("nothing=1", "no option"),
    ],
)
def test_a_wrong_option_is_reported_and_nothing_is_computed(
    campaign: Campaign, query: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "measures_report", pytest.fail)
    client = logged_in("researcher")
    for address in addresses(campaign):
        answer = client.get(f"{address}{'&' if '?' in address else '?'}{query}")
        assert answer.status_code == 422
        assert words in answer.content.decode()


def test_an_unknown_system_is_reported_instead_of_the_numbers(
    campaign: Campaign,
) -> None:
    client = logged_in("researcher")
    page, _, *files = addresses(campaign)
    assert "There is no system" in client.get(f"{page}&system=none").content.decode()
    assert {client.get(f"{a}?system=none").status_code for a in files} == {422}


@pytest.mark.parametrize(
    "query",
    [
        "option=eta",
        "option=tokenizer=file:x",
        "option=refusals=file:x",
        "passages=a@b",
        "measure=none",
        "preset=x",
    ],
)
def test_the_api_refuses_a_wrong_option_with_the_parameters_name(
    campaign: Campaign, query: str
) -> None:
    logged_in("researcher")
    script = script_of(User.objects.get(username="researcher"))
    answer = script.get(f"campaigns/{campaign.pk}/measures/?{query}")
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["field"] == query.partition("=")[0]


def test_measures_are_computed_once_for_the_same_labels(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client, start = logged_in("researcher"), f"/campaigns/{campaign.pk}/measures.json"
    first = client.get(start).content
    monkeypatch.setattr(selection, "measures_report", pytest.fail)
    assert client.get(start).content == first
    monkeypatch.undo()
    more = [label("b", "q3", "answerable", "no", "bram")]
    run("import_labels", str(write_lines(tmp_path / "m.jsonl", more)), "--campaign", "c")
    names = [rater["name"] for rater in json.loads(client.get(start).content)["raters"]]
    assert "bram" in names


def test_ratings_of_passages_are_offered_and_used(campaign: Campaign, tmp_path: Path) -> None:
    run("create_campaign", "p", "--protocol", "rubric-passage", "--batch", "b",
        "--option", "sampling=all")  # fmt: skip
    rated = [
        label(f"t/p{p}", f"q{n}", "rating", 5 if p == 1 and n < 2 else 0)
        for p in (1, 2, 3)
        for n in range(10)
    ]
    run("import_labels", str(write_lines(tmp_path / "p.jsonl", rated)), "--campaign", "p")
    client, start = logged_in("researcher"), f"/campaigns/{campaign.pk}/measures"
    assert "people@p" in client.get(results(campaign)).content.decode()
    found = json.loads(client.get(f"{start}.json?passages=people@p").content)
    assert found["passages"] == "people@p"
    assert found["measures"]["Cov(y)"]["systems"]["oracle"]["raters"]["judge"]["value"] == 1


def test_if_it_is_unknown_which_sub_questions_count_coverage_of_reports_is_null(
    campaign: Campaign, tmp_path: Path
) -> None:
    """Only one of the oracle's three passages was rated."""
    run("create_campaign", "p", "--protocol", "rubric-passage", "--batch", "b",
        "--option", "sampling=all")  # fmt: skip
    rated = [label("t/p1", f"q{n}", "rating", 5 if n < 2 else 0) for n in range(10)]
    run("import_labels", str(write_lines(tmp_path / "p.jsonl", rated)), "--campaign", "p")
    client, start = logged_in("researcher"), f"/campaigns/{campaign.pk}/measures"
    for unrated, expected in (("refuse", None), ("condensed", 1), ("zero", 1)):
        address = f"{start}.json?passages=people@p&unrated={unrated}"
        found = json.loads(client.get(address).content)["measures"]["Cov(y)"]
        said = found["systems"]["oracle"]["raters"]["judge"]
        assert said["value"] == expected
    page = client.get(f"{results(campaign)}&passages=people@p").content.decode()
    assert "hide which sub-questions count" in page
