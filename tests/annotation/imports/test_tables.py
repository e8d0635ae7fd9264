"""A table in any form is imported by the command, on the page and through the API alike."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import CommandError

from annotation.models import Label, Rater, rater_of
from tests.api.cast import script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, client_of, make_study
from tests.table_forms import FORMS, in_form

pytestmark = pytest.mark.django_db
CODES: dict[str, list[str | None]] = {"crowd": ["yes", "no", "no"], "Zoë": ["no", None, "invalid"]}


@once
def study() -> Study:
    return make_study()


def units(study: Study) -> list[dict[str, str]]:
    item = study.campaign.items.order_by("position")[0]
    return [{"item": item.key, "unit": f"q:{n}"} for n in range(3)]


def long(study: Study) -> list[dict[str, str]]:
    return [
        {**unit, "variable": "answerable", "value": code, "rater": rater}
        for rater, codes in CODES.items()
        for unit, code in zip(units(study), codes, strict=True)
        if code
    ]


def wide(study: Study) -> list[dict[str, str | None]]:
    return [
        {**unit, **{rater: codes[n] for rater, codes in CODES.items()}}
        for n, unit in enumerate(units(study))
    ]


def stored() -> list[tuple[str, ...]]:
    """Rater, unit and value of each label."""
    place = ("response__assignment__rater__name", "unit__key", "value")
    return sorted(Label.objects.values_list(*place))


def right() -> list[tuple[str, ...]]:
    return sorted(
        (rater, f"q:{n}", code)
        for rater, codes in CODES.items()
        for n, code in enumerate(codes)
        if code
    )


@pytest.fixture(params=["long", "wide"])
def rows(request: pytest.FixtureRequest, study: Study) -> Any:
    return {"long": long, "wide": wide}[request.param](study)


@pytest.mark.parametrize("form", FORMS)
def test_the_command_imports_every_form(study: Study, rows: Any, tmp_path: Path, form: str) -> None:
    path = in_form(form, pd.DataFrame(rows), tmp_path)
    said = run("import_labels", path, "--campaign", study.campaign.name)
    assert "Imported 3 labels from crowd." in said
    assert "Imported 2 labels from Zoë." in said
    assert stored() == right()
    again = run("import_labels", path, "--campaign", study.campaign.name)
    assert "Nothing to do for 5 labels: they exist already." in again


@pytest.mark.parametrize("form", FORMS)
def test_the_page_imports_every_form(study: Study, rows: Any, tmp_path: Path, form: str) -> None:
    path = in_form(form, pd.DataFrame(rows), tmp_path)
    file = SimpleUploadedFile("labels.bin", path.read_bytes())
    address = f"/campaigns/{study.campaign.pk}/import/"
    page = client_of(study.rita).post(address, {"file": file}, follow=True).content.decode()
    assert "Imported 5 labels from labels.bin" in page
    assert str(tmp_path) not in page
    assert stored() == right()


def test_the_api_imports_rows_of_both_kinds(study: Study, rows: Any) -> None:
    script = script_of(study.rita)
    answer = script.post(f"campaigns/{study.campaign.pk}/imports/", {"labels": rows})
    assert answer.status_code == 200, answer.content
    assert answer.json()["labels"] == {"crowd": 3, "Zoë": 2}
    assert stored() == right()


def test_nobody_may_answer_under_the_name_of_a_person_by_a_column(study: Study) -> None:
    name = rater_of(study.ada).name
    table = [{**unit, name: "yes", "crowd": "yes"} for unit in units(study)]
    script = script_of(study.rita)
    study.assignment(study.ada)
    answer = script.post(f"campaigns/{study.campaign.pk}/imports/", {"labels": table})
    assert answer.status_code == 422
    assert "answers on this site" in answer.content.decode()
    file = SimpleUploadedFile("l.json", json.dumps(table).encode())
    address = f"/campaigns/{study.campaign.pk}/import/"
    page = client_of(study.rita).post(address, {"file": file}, follow=True).content.decode()
    assert "answers on this site" in page
    assert not Label.objects.exists()


def test_an_ambiguous_table_needs_the_variable(study: Study, tmp_path: Path) -> None:
    table = pd.DataFrame([{**unit, "gold": "yes"} for unit in units(study)])
    path = in_form("csv", table, tmp_path)
    with pytest.raises(CommandError, match="line 1: unknown column 'gold', the only one that may"):
        run("import_labels", path, "--campaign", study.campaign.name)
    run("import_labels", path, "--campaign", study.campaign.name, "--wide", "answerable")
    assert {rater for rater, _, _ in stored()} == {"gold"}


def test_the_page_takes_the_variable_too(study: Study, tmp_path: Path) -> None:
    table = pd.DataFrame([{**unit, "gold": "yes"} for unit in units(study)])
    file = SimpleUploadedFile("l.xlsx", in_form("xlsx", table, tmp_path).read_bytes())
    sent = {"file": file, "wide": "answerable"}
    address = f"/campaigns/{study.campaign.pk}/import/"
    page = client_of(study.rita).post(address, sent, follow=True).content.decode()
    assert "Imported 3 labels from l.xlsx" in page


@pytest.mark.parametrize("form", ["csv", "tsv", "json array", "parquet", "xlsx"])
def test_one_wrong_cell_imports_nothing_and_is_named(
    study: Study, tmp_path: Path, form: str
) -> None:
    table = pd.DataFrame(long(study))
    table.loc[3, "value"] = "nan?"
    with pytest.raises(CommandError) as caught:
        run("import_labels", in_form(form, table, tmp_path), "--campaign", study.campaign.name)
    line = 4 if form in ("json array", "parquet") else 5
    assert f"line {line}: " in str(caught.value)
    assert 'answerable is "nan?"; give one of yes, no, invalid' in str(caught.value)
    assert not Label.objects.exists()


def test_a_word_for_missing_is_refused_with_the_way_to_write_it(
    study: Study, tmp_path: Path
) -> None:
    table = pd.DataFrame(long(study))
    table.loc[3, "value"] = "#N/A"
    with pytest.raises(CommandError, match="or for no label leave it out, or give a reason under"):
        run("import_labels", in_form("csv", table, tmp_path), "--campaign", study.campaign.name)


@pytest.mark.parametrize("other", ["Zoë ", "zoë", unicodedata.normalize("NFD", "Zoë")])
def test_a_person_under_two_names_is_named_in_a_later_file_too(
    study: Study, tmp_path: Path, other: str
) -> None:
    first, second = long(study)[-1:], [{**long(study)[-1], "rater": other}]
    path = in_form("json lines", pd.DataFrame(first), tmp_path)
    assert "Warning" not in run("import_labels", path, "--campaign", study.campaign.name)
    path = in_form("json lines", pd.DataFrame(second), tmp_path)
    said = run("import_labels", path, "--campaign", study.campaign.name)
    assert "Warning: The raters" in said
    assert '"Zoë" (1 label)' in said
    assert "count as 2 raters" in said
    assert Rater.objects.filter(name__in=["Zoë", other]).count() == 2
    answer = script_of(study.rita).post(
        f"campaigns/{study.campaign.pk}/imports/", {"labels": [{**second[0], "unit": "q:0"}]}
    )
    assert "count as 2 raters" in answer.json()["warnings"][0]
