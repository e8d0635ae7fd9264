"""An export says who decides a cell under a certificate, and nothing that reads it back cares."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analysis.trust.certificates import issue
from annotation.exports.contents import EXPORTS, TABLE
from annotation.exports.writers import FORMS, Subject
from annotation.models import Campaign, Label, TrustCertificate, TrustPlan
from tandem.labels.file.reader import read_labels
from tandem.labels.file.rows import as_line
from tests.analysis.trust.cast import JUDGE, PASSAGES, VARIABLE, all_answer, unsure, world
from tests.cast import Line, campaign_of, run, write_lines

pytestmark = pytest.mark.django_db
QUERIES = 40
COLUMN = "decided_by"


def certified(folder: Path) -> TrustCertificate:
    """A certificate for the cells of which the judge is sure, which are all right."""
    world(folder, queries=QUERIES)
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE)
    plan = TrustPlan.objects.get()
    run("trust", "draw", "c", "--queries", str(QUERIES))
    all_answer(plan, irrelevant={PASSAGES - 1})
    return issue(plan)


def exported(folder: Path, form: str = "jsonl", campaign: str = "c") -> Path:
    path = folder / f"{campaign}.{form}"
    run("export", "--campaign", campaign, "--what", "labels", "--format", form, "--output", path)
    return path


def lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def by_judge(found: list[Line]) -> list[Line]:
    return [line for line in found if COLUMN in line and line["rater"] == JUDGE]


def test_a_judge_decides_the_cells_that_the_newest_certificate_accepts(tmp_path: Path) -> None:
    certificate = certified(tmp_path)
    found = lines(exported(tmp_path))
    decided = by_judge(found)
    assert {line[COLUMN] for line in decided} == {f"judge under {certificate.digest}"}
    assert {line["variable"] for line in decided} == {VARIABLE}
    assert len(decided) == QUERIES * (PASSAGES - 1)
    assert not any(unsure(line["unit"]) for line in decided)
    assert not [line for line in found if line["rater"] != JUDGE]
    run("trust", "end", "c")
    people = [line for line in lines(exported(tmp_path)) if line["rater"] != JUDGE]
    said = Counter((line.get("value") is None, line.get(COLUMN)) for line in people)
    assert said.keys() == {(False, "person")}


def test_a_stale_certificate_lets_a_judge_decide_nothing(tmp_path: Path) -> None:
    certified(tmp_path)
    run("trust", "end", "c")
    verdict = Label.objects.filter(response__assignment__rater__name=JUDGE, variable=VARIABLE)
    verdict.filter(pk=verdict.order_by("pk")[0].pk).update(value="no")
    found = lines(exported(tmp_path))
    assert not by_judge(found)
    assert any(line.get(COLUMN) == "person" for line in found)


def test_only_a_campaign_with_a_certificate_has_the_column(tmp_path: Path) -> None:
    campaign = world(tmp_path, queries=QUERIES)
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE)
    assert COLUMN not in EXPORTS["labels"].columns_for(campaign)
    assert not any(COLUMN in line for line in lines(exported(tmp_path)))


@pytest.mark.parametrize("form", TABLE)
def test_readers_of_every_form_see_what_they_saw_without_the_column(
    tmp_path: Path, form: str
) -> None:
    certified(tmp_path)
    run("trust", "end", "c")
    path = exported(tmp_path, form)
    read = list(read_labels(path))
    assert not any(COLUMN in as_line(row) for row in read)
    assert read == list(read_labels(without(tmp_path, form)))
    assert figures(path) == figures(without(tmp_path, form))


def without(folder: Path, form: str = "jsonl") -> Path:
    """The same file of labels without the column."""
    kept = [{k: v for k, v in line.items() if k != COLUMN} for line in lines(exported(folder))]
    columns = EXPORTS["labels"].columns_for(Campaign.objects.get(name="c"))
    assert COLUMN in columns
    subject = Subject("labels", [name for name in columns if name != COLUMN], "c")
    path = folder / f"without.{form}"
    path.write_bytes(b"".join(FORMS[form].write(subject, iter(kept))))
    return path


def figures(path: Path) -> list[Any]:
    """What each command that reads a file of labels says, without the moment."""
    labels = ("--labels", str(path), "--format", "json")
    said = [
        run("report", *labels),
        run("check_trust", "--labels", str(path), "--drawn", "even", "--format", "json"),
    ]
    return [{**json.loads(text), "generated_at": ""} for text in said]


def test_imported_labels_are_the_same_with_and_without_the_column(tmp_path: Path) -> None:
    certified(tmp_path)
    run("trust", "end", "c")
    exports = []
    for name, path in (("d", exported(tmp_path)), ("e", without(tmp_path))):
        campaign_of("grounding-relevance", "--raters", "3", name=name)
        renamed = [{**line, "campaign": name} for line in lines(path)]
        run("import_labels", write_lines(path, renamed), "--campaign", name)
        found = lines(exported(tmp_path, campaign=name))
        exports.append([{**line, "campaign": "", "created_at": ""} for line in found])
    assert exports[0] == exports[1]
    assert not any(COLUMN in line for line in exports[0])
    assert Label.objects.filter(response__assignment__item__campaign__name="d").exists()
    of = ("report", "--format", "json", "--campaign")
    d, e = (json.loads(run(*of, name)) for name in ("d", "e"))
    assert d["variables"] == e["variables"]
    assert Campaign.objects.count() == 3
