"""Labels are imported from a file on a page, as the command does, all or nothing."""

from __future__ import annotations

import csv
import io
import json

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.imports.import_job import _folder
from annotation.models import Label
from tests.once import once
from tests.page_cast import Study, client_of, make_study

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


@pytest.fixture
def rita(study: Study) -> Client:
    return client_of(study.rita)


def sent(rita: Client, study: Study, **more: str) -> str:
    """The page's message after a file with three labels of the first item."""
    key = study.campaign.items.order_by("position")[0].key
    lines = "".join(
        json.dumps({"item": key, "unit": f"q:{n}", "variable": "answerable", "value": "no",
                    "rater": "crowd", **more}) + "\n"
        for n in range(3)
    )  # fmt: skip
    file = SimpleUploadedFile("../labels.jsonl", lines.encode())
    address = f"/campaigns/{study.campaign.pk}/import/"
    return rita.post(address, {"file": file}, follow=True).content.decode()


def test_an_import_is_reported_and_repeating_it_changes_nothing(rita: Client, study: Study) -> None:
    assert "Imported 3 labels from labels.jsonl" in sent(rita, study)
    assert Label.objects.count() == 3
    again = sent(rita, study)
    assert "Nothing new in labels.jsonl" in again
    assert "3 labels were there already" in again
    assert not list(_folder().iterdir()), "the file is kept no longer than it is needed"


def test_one_wrong_line_is_named_and_nothing_is_imported(rita: Client, study: Study) -> None:
    content = sent(rita, study, value="perhaps")
    assert "Nothing was imported from labels.jsonl" in content
    assert "Line 1" in content
    assert str(_folder()) not in content
    assert not Label.objects.exists()


def test_labels_in_the_name_of_a_person_who_answers_here_are_refused(
    rita: Client, study: Study
) -> None:
    name = study.assignment(study.ada).rater.name
    assert "answers on this site" in sent(rita, study, rater=name)
    assert not Label.objects.exists()


def template(rita: Client, study: Study, form: str) -> bytes:
    address = f"/campaigns/{study.campaign.pk}/import/template.{form}"
    assert address in rita.get(f"/campaigns/{study.campaign.pk}/import/").content.decode()
    return rita.get(address).getvalue()


def test_a_template_that_is_filled_in_partly_is_imported(rita: Client, study: Study) -> None:
    lines = list(csv.DictReader(io.StringIO(template(rita, study, "csv").decode())))
    example, *rest = lines
    assert example["value"] == "yes"
    assert len(rest) == 6, "three questions of two reports"
    assert {each["value"] or each["rater"] for each in rest} == {""}
    for each in rest[:2]:
        each |= {"value": "no", "rater": "crowd"}
    out = io.StringIO()
    writer = csv.DictWriter(out, list(example))
    writer.writeheader()
    writer.writerows(lines)
    address = f"/campaigns/{study.campaign.pk}/import/"
    file = SimpleUploadedFile("labels.csv", out.getvalue().encode())
    page = rita.post(address, {"file": file}, follow=True).content.decode()
    assert "Imported 2 labels from labels.csv" in page
    assert "skipped: 1 example of the template" in page
    assert "skipped: 4 rows without a rater and a value" in page
    assert set(Label.objects.values_list("value", flat=True)) == {"no"}


def test_the_template_as_a_spreadsheet_has_the_same_cells(rita: Client, study: Study) -> None:
    book = openpyxl.load_workbook(io.BytesIO(template(rita, study, "xlsx")))
    cells = [[cell or "" for cell in row] for row in book.active.iter_rows(values_only=True)]
    text = template(rita, study, "csv").decode()
    assert cells == list(csv.reader(io.StringIO(text)))


def test_a_person_with_an_open_item_gets_no_template(rita: Client, study: Study) -> None:
    study.assignment(study.rita)
    address = f"/campaigns/{study.campaign.pk}/import/template.csv"
    assert rita.get(address).status_code == 403
