"""A study whose decisions become the next batch, and which a system joins later."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.study import read_study, status
from annotation.models import Label
from datasets.models import Batch
from tests.cast import BATCH, run, write_lines

pytestmark = pytest.mark.django_db

CHAIN = """\
[study]
name = "chain"

[batch.documents]
files = ["documents.jsonl"]

[campaign.verify]
protocol = "key-point-verification"
batch = "documents"
labels = ["verify.jsonl"]

[batch.points]
rule = "verified-key-points"
from = ["verify"]

[campaign.recall]
protocol = "key-point-recall"
batch = "points"
labels = ["recall.jsonl"]
"""
LATER = """
[batch.joined]
files = ["later.jsonl"]
extends = "points"

[campaign.recall-joined]
protocol = "key-point-recall"
batch = "joined"
continues = "recall"
"""
POINTS = [point["id"] for query in BATCH for point in query["key_points"]]
DROPPED = "k#2"


def verified(rater: str, key: str = "agree") -> list[dict[str, str]]:
    lines = []
    for point in POINTS:
        at = {"item": point, "unit": point, "rater": rater}
        grounded = "no" if point == DROPPED else "yes"
        lines.append({**at, "variable": "grounded", "value": grounded})
        if grounded == "yes":
            lines.append({**at, "variable": "key", "value": key})
    return lines


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    recall = [
        {"item": report["id"], "unit": point["id"], "rater": "ada", "variable": name, "value": said}
        for query in BATCH
        for report in query["reports"]
        for point in query["key_points"]
        for name, said in (("entailed", "no"), ("failure", "missing"))
        if point["id"] != DROPPED
    ]
    write_lines(tmp_path / "documents.jsonl", BATCH)
    write_lines(tmp_path / "verify.jsonl", verified("ada"))
    write_lines(tmp_path / "recall.jsonl", recall)
    (tmp_path / "study.toml").write_text(CHAIN, "utf-8")
    return tmp_path


def refused(*arguments: object) -> CommandError:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return error.value


def test_the_next_batch_waits_until_people_have_decided(chain: Path) -> None:
    path = chain / "study.toml"
    path.write_text(CHAIN.replace('labels = ["verify.jsonl"]\n', ""), "utf-8")
    assert str(refused("apply_study", path)).startswith("People give 4 of 4 answers in campaign")
    states = [stage.state for stage in status(read_study(path)).stages]
    assert states == ["done", "waiting", "blocked", "blocked"]
    assert "after campaign verify" in refused_plan(path)
    path.write_text(CHAIN, "utf-8")
    assert run("apply_study", path).endswith("Done: study 'chain' is as its file says.\n")
    assert Batch.objects.get(name="points").counts["key_points"] == len(POINTS) - 1


def refused_plan(path: Path) -> str:
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("plan_study", str(path), stdout=out)
    return out.getvalue()


def test_a_tie_names_the_keys_that_would_decide_it(chain: Path) -> None:
    text = CHAIN.replace('["verify.jsonl"]', '["verify.jsonl", "ben.jsonl"]')
    path = chain / "study.toml"
    text = text.replace('verification"\n', 'verification"\nraters_per_item = 2\n')
    path.write_text(text, "utf-8")
    write_lines(chain / "ben.jsonl", verified("ben", "disagree"))
    error = str(refused("apply_study", path))
    assert 'let an adjudicator decide, or give ties = "keep" or ties = "drop"' in error
    assert "--" not in error


def test_a_batch_says_that_labels_changed_later_and_keeps_its_rule(chain: Path) -> None:
    path = chain / "study.toml"
    run("apply_study", path)
    run("import_labels", write_lines(chain / "more.jsonl", verified("ben")), "--campaign", "verify")
    found = status(read_study(path))
    assert [stage.state for stage in found.stages][2] == "behind"
    assert found.next.startswith("batch 'points' is behind: 4 units have other labels since")
    tables = run("paper", "long2rag", "--study", "chain", "--resamples", "2")
    assert "Batch points is behind: 4 units have other labels than when it was derived." in tables
    path.write_text(CHAIN.replace('["verify"]', '["verify"]\nset = { key = "agree,neutral" }'))
    error = refused("apply_study", path)
    assert str(error).startswith(f"{path}, line 15: batch 'points' is there, and its set is")
    assert "derive [batch.points-2]" in str(error)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "line", "says"),
    [
        ("verified-key-points", "verified-points", 13, "did you mean 'verified-key-points'?"),
        ('from = ["verify"]', 'from = ["recall"]\nbatch = "documents"', 14, "key-point-recall"),
        ('from = ["verify"]', 'batch = "documents"', 12, "reads a campaign"),
        ('from = ["verify"]', 'from = ["verify"]\nset = { keys = "x" }', 15, "no option 'keys=x'"),
        ('from = ["verify"]', 'from = ["verify"]\nties = "keeps"', 15, "did you mean 'keep'?"),
    ],
)
def test_a_rule_that_does_not_fit_its_campaign_is_refused(
    chain: Path, before: str, after: str, line: int, says: str
) -> None:
    path = chain / "study.toml"
    path.write_text(CHAIN.replace(before, after), "utf-8")
    error = refused("plan_study", path)
    assert str(error).startswith(f"{path}, line {line}: ")
    assert says in str(error)
    assert not Batch.objects.exists()


def test_a_system_that_joins_a_finished_study_adds_only_its_own_items(chain: Path) -> None:
    path = chain / "study.toml"
    run("apply_study", path)
    new = {"id": "r3", "text": "It was built by hand.", "system": "three"}
    write_lines(chain / "later.jsonl", [{"id": "q/1", "reports": [new]}])
    path.write_text(CHAIN + LATER, "utf-8")
    error = refused("apply_study", path)
    assert str(error).startswith("People give 1 of 7 answers in campaign 'recall-joined'")
    old = Label.objects.filter(response__assignment__item__campaign__name="recall").count()
    carried = Label.objects.filter(response__assignment__item__campaign__name="recall-joined")
    assert carried.count() == old
