"""Plan, apply and status of a study: in order, resumable, and never changing what has labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from analysis.models import Study
from analysis.study import apply, read_study
from analysis.study import stages as module
from analysis.study.status import status
from annotation.models import Campaign, Label, User
from datasets.models import Batch, Team
from judging.models import Judge
from tests.analysis.study.conftest import labels_of
from tests.cast import BATCH, exported, run, write_lines

pytestmark = pytest.mark.django_db
Rewrite = Callable[..., Path]


def refused(*arguments: object) -> CommandError:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return error.value


def everything() -> tuple[int, ...]:
    models = (Batch, Campaign, Judge, Label, Study)
    return tuple(model._default_manager.count() for model in models)


def test_a_plan_says_what_would_be_created_and_creates_nothing(folder: Path) -> None:
    error = refused("plan_study", folder)
    assert error.returncode == 3
    assert everything() == (0, 0, 0, 0, 0)


def test_on_a_site_with_several_teams_a_study_belongs_to_one(folder: Path) -> None:
    for name in ("bridges", "main"):
        Team.objects.create(name=name)
    assert "which team, by --team: bridges, main" in str(refused("apply_study", folder))
    assert refused("apply_study", folder, "--team", "bridges").returncode == 3
    owned = (Batch, Campaign, Judge)
    assert {str(model._default_manager.get().team) for model in owned} == {"bridges"}


def test_apply_stops_where_people_have_to_answer_and_continues_afterwards(folder: Path) -> None:
    error = refused("apply_study", folder)
    assert error.returncode == 3
    assert str(error).startswith("People give 6 of 12 answers in campaign 'coverage'")
    assert Label.objects.filter(response__assignment__rater__name="replay").count() == 14
    before = everything()

    assert refused("apply_study", folder).returncode == 3
    assert everything() == before
    write_lines(folder / "ben.jsonl", labels_of("ben", "invalid"))
    run("import_labels", folder / "ben.jsonl", "--campaign", "coverage")
    assert run("apply_study", folder) == "Nothing to do: study 'pilot' is as its file says.\n"
    assert run("plan_study", folder).endswith("Nothing to do: study 'pilot' is as its file says.\n")


def test_a_campaign_is_for_named_people_until_the_file_opens_it(
    folder: Path, rewrite: Rewrite
) -> None:
    refused("apply_study", folder)
    assert Campaign.objects.get().pool == "named"
    refused("apply_study", rewrite(("protocol =", 'pool = "open"\nprotocol =')))
    assert Campaign.objects.get().pool == "open"
    # A file that says nothing of it leaves a campaign as it is.
    refused("apply_study", rewrite(('pool = "open"\n', "")))
    assert Campaign.objects.get().pool == "open"


def test_labels_added_to_the_file_later_are_imported_once(folder: Path, rewrite: Rewrite) -> None:
    refused("apply_study", folder)
    write_lines(folder / "ben.jsonl", labels_of("ben", "invalid"))
    path = rewrite(('["ada.jsonl"]', '["ada.jsonl", { file = "ben.jsonl", format = "labels" }]'))
    said = run("apply_study", path)
    assert said.splitlines() == [
        "campaign coverage: import the labels of ben.jsonl",
        "Done: study 'pilot' is as its file says.",
    ]
    (part,) = Study.objects.get().parts.filter(kind="campaign")
    assert sorted(part.imported.values()) == ["ada.jsonl", "ben.jsonl"]


@pytest.mark.parametrize("fails_at", range(5))
def test_apply_killed_at_any_step_and_run_again_has_the_same_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    steps, before = iter(range(99)), module.run_command

    class KilledError(BaseException):
        pass

    def killed(name: str, /, **options: object) -> list[str]:
        if next(steps) == fails_at:
            raise KilledError
        return before(name, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_command", killed)
        with pytest.raises(KilledError):
            apply(read_study(folder))
    apply(read_study(folder))
    assert everything() == (1, 1, 1, 28, 1)
    assert [str(part) for part in Study.objects.get().parts.all()] == [
        "judge replay",
        "batch documents",
        "campaign coverage",
    ]
    assert not apply(read_study(folder)).done


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "line", "says"),
    [
        ("raters_per_item = 2", "raters_per_item = 3", 7, "continues = 'coverage'"),
        ('"report-coverage"', '"key-point-recall"', 5, "has protocol 'report-coverage'"),
        ("labels = [", "option = { seed = 4 }\nlabels = [", 8, "name a new campaign"),
        ('answers = "judge.jsonl"', 'answers = "ada.jsonl"', 11, "judges never change"),
    ],
)
def test_a_part_with_labels_is_never_changed(
    folder: Path, rewrite: Rewrite, before: str, after: str, line: int, says: str
) -> None:
    refused("apply_study", folder)
    # The order of units does not matter here, but a judge's answers do.
    write_lines(folder / "ada.jsonl", labels_of("replay", "invalid"))
    path, stored = rewrite((before, after)), everything()
    for command in ("plan_study", "apply_study"):
        error = refused(command, path)
        assert error.returncode == 1
        assert str(error).startswith(f"{path}, line {line}: ")
        assert says in str(error)
    assert everything() == stored


def test_a_batch_file_with_changed_content_under_the_same_name_is_refused(folder: Path) -> None:
    refused("apply_study", folder)
    write_lines(folder / "documents.jsonl", [*BATCH[:2], {**BATCH[2], "text": "Else?"}])
    error = refused("apply_study", folder)
    assert str(error).startswith(f"{folder / 'study.toml'}, line 16: batch 'documents' is loaded")
    assert "name the new one [batch.documents-2]" in str(error)
    # The same content in other bytes is the same batch.
    lines = [dict(reversed(list(line.items()))) for line in BATCH]
    write_lines(folder / "documents.jsonl", lines)
    assert refused("apply_study", folder).returncode == 3


def test_settings_of_a_study_may_change(folder: Path, rewrite: Rewrite) -> None:
    refused("apply_study", folder)
    account = User.objects.create(username="ada")
    (folder / "consent.md").write_text("Your labels are published.")
    (folder / "background.toml").write_text('[field]\nquestion = "Your field?"')
    more = """raters_per_item = 2
language = "de"
consent = "consent.md"
background = "background.toml"
pay = "14 EUR per hour"
share = { ada = 0.5 }"""
    path = rewrite(("raters_per_item = 2", more))
    assert refused("plan_study", path).returncode == 3
    refused("apply_study", path)
    campaign = Campaign.objects.get()
    assert (campaign.language, campaign.consent_version) == ("de", 1)
    assert (campaign.pay, campaign.background[0]["name"]) == ("14 EUR per hour", "field")
    assert campaign.person_shares.get().user == account
    assert "change its settings" not in run("plan_study", path)


def test_a_part_removed_from_the_file_is_kept(folder: Path, rewrite: Rewrite) -> None:
    refused("apply_study", folder)
    path = rewrite(
        ('judges = ["replay"]\n', ""),
        ('[judge.replay]\nbackend = "scripted"\nanswers = "judge.jsonl"\n', ""),
    )
    said = run("plan_study", path)
    assert "leave  judge    replay: it is no longer in the file, but stays as it is" in said


def test_the_status_shows_counts_and_the_next_step_in_words(folder: Path) -> None:
    before = json.loads(run("study_status", folder, "--format", "json"))
    assert [stage["state"] for stage in before["stages"]] == ["missing", "missing", "blocked"]
    assert before["next"] == "Run study apply: it will create it (scripted) (judge replay)."
    refused("apply_study", folder)
    after = json.loads(run("study_status", folder, "--format", "json"))
    assert after["stages"][2] == {
        "kind": "campaign",
        "name": "coverage",
        "state": "waiting",
        "counts": {"items": 6, "asked": 12, "answered": 6},
        "todo": [],
        "waits": [after["next"]],
        "behind": None,
        "says": None,
        "after": [],
        "next": after["next"],
    }
    assert "waiting  campaign  coverage" in run("study_status", folder)


def test_a_campaign_for_judges_only_waits_for_nobody(folder: Path, rewrite: Rewrite) -> None:
    path = rewrite(("raters_per_item = 2", "raters_per_item = 0"), ('labels = ["ada.jsonl"]\n', ""))
    said = run("apply_study", path)
    assert said.endswith("Done: study 'pilot' is as its file says.\n")
    (campaign,) = (s for s in status(read_study(path)).stages if s.key.kind == "campaign")
    assert (campaign.state, campaign.waits) == ("done", ())
    assert campaign.counts == {"items": 6, "asked": 0, "answered": 0}
    assert "only judges are asked" in run("progress", "coverage")


def test_people_say_yes_or_no_and_a_judge_rates_in_one_campaign(
    folder: Path, rewrite: Rewrite
) -> None:
    option = 'option = { variables = "answerable", judge_variables = "rating" }'
    rated = [{**line, "variable": "rating", "value": "3"} for line in labels_of("replay")]
    write_lines(folder / "judge.jsonl", rated)
    run("apply_study", rewrite(("raters_per_item = 2", option)))
    found = {(row["rater"], row["variable"]) for row in exported("coverage", "labels")}
    assert found == {("ada", "answerable"), ("replay", "rating")}
