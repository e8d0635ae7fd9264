"""A run's configuration and results, and the hash that seals them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management.base import CommandError

from annotation.models import Campaign
from judging import manifest as manifests
from judging.backends.addresses import without_credentials
from judging.backends.base import Answer, Findings, Request
from judging.backends.scripted import Script, Scripted
from judging.manifest import begin, is_sealed, manifest_of
from judging.models import Judge, JudgeRun
from judging.runs import lifecycle
from judging.runs.planning import TrialSample, plan_trial
from judging.trials.perturbed_judges import ensure_trials
from tandem.version import commit_in
from tests.judging.cast import command, judge, run_scripted, yes

FACTS = {"version": "0.12.0", "max_model_len": 4096}
JSON = dict[str, Any]


def manifest(campaign: Campaign, **fields: Any) -> JSON:
    """Return the manifest of a run that has ended."""
    run, _, _ = run_scripted(campaign, judge(**fields), lambda r: Answer(yes(r), model="m-1"))
    return dict(run.manifest)


def test_a_run_that_ended_has_a_sealed_manifest(campaign: Campaign) -> None:
    made = manifest(campaign)
    assert is_sealed(made)
    left = {name: value for name, value in made.items() if name != "sha256"}
    text = json.dumps(left, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert made["sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_any_change_breaks_the_seal(campaign: Campaign) -> None:
    made = manifest(campaign)
    assert not is_sealed(made | {"cost": "0.01"})
    assert not is_sealed({})


def test_a_manifest_records_the_configuration_of_the_run(campaign: Campaign) -> None:
    made = manifest(campaign, granularity="unit", params={"concurrency": 4})
    assert made["platform"]["version"] == settings.TANDEM_VERSION
    assert len(made["platform"]["requirements_sha256"]) == 64
    assert made["judge"]["granularity"] == "unit"
    assert made["prompt"]["sha256"] == JudgeRun.objects.get().prompt_sha256
    assert len(made["schema_sha256"]) == 64
    assert made["engine"]["concurrency"] == 4
    assert made["engine"]["retries"]["attempts"] > 0
    assert made["data"]["batch_sha256"] == campaign.batch.digest
    assert made["data"]["items"] == 4


def test_a_manifest_records_the_results_of_the_run(campaign: Campaign) -> None:
    made = manifest(campaign)
    assert made["state"] == "done"
    assert made["counts"]["done"] == 4
    assert made["counts"]["calls_by_state"] == {"answered": 4}
    assert made["counts"]["left_open"] == 0
    assert made["counts"]["calls_of_unknown_cost"] == 4
    assert made["models_returned"] == ["m-1"]
    assert made["times"]["ended_at"] > made["times"]["started_at"]
    assert set(made["usage"]) == {
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "thinking_tokens",
    }


def test_a_manifest_counts_failures_by_reason(campaign: Campaign) -> None:
    run, _, _ = run_scripted(campaign, judge(), lambda request: "no JSON")
    assert run.manifest["counts"]["failures"] == {"unreadable": 4}


def test_the_hash_of_the_items_covers_their_keys_in_order(campaign: Campaign) -> None:
    keys = campaign.items.order_by("position").values_list("key", flat=True)
    digest = hashlib.sha256("".join(f"{key}\n" for key in keys).encode()).hexdigest()
    assert manifest(campaign)["data"]["items_sha256"] == digest


def test_a_manifest_records_the_findings_of_the_probe(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    begin(run, Scripted(yes), Findings(FACTS, ("no logprobs",)))
    run.refresh_from_db()
    assert run.manifest["lane"]["facts"] == FACTS
    assert run.manifest["warnings"] == ["no logprobs"]


def test_the_next_worker_keeps_the_facts_of_the_first(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    begin(run, Scripted(yes), Findings(FACTS))
    begin(run, Scripted(yes), Findings({"version": "0.13.0"}))
    run.refresh_from_db()
    assert run.manifest["lane"]["facts"] == FACTS
    assert [each["facts"] for each in run.manifest["taken_up"]] == [{"version": "0.13.0"}]


def test_other_entries_of_a_manifest_are_kept(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    JudgeRun.objects.filter(pk=run.pk).update(manifest={"batch": {"requests": 3}})
    begin(run, Scripted(yes), Findings())
    manifests.end(run, Findings({"fingerprint": "b"}), limits=[(0.0, 20), (1.5, 40)])
    run.refresh_from_db()
    assert run.manifest["batch"] == {"requests": 3}
    assert run.manifest["facts_at_end"] == {"fingerprint": "b"}
    assert run.manifest["limit_history"] == [[0.0, 20], [1.5, 40]]
    assert is_sealed(run.manifest)


def test_a_run_that_died_has_a_manifest_too(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    begin(run, Scripted(yes), Findings(FACTS))
    made = manifest_of(run)
    assert made["state"] == "queued"
    assert made["counts"]["left_open"] == 4
    assert is_sealed(made)
    run.refresh_from_db()
    assert "sha256" not in run.manifest


def no(request: Request) -> str:
    answer = {"evidence": [], "answerable": "no"}
    return json.dumps({unit.name: answer for unit in request.facts.units})


def tried(campaign: Campaign, base: Judge, kind: str, script: Script = yes) -> Judge:
    """The first trial of a kind, run over two of the items."""
    trial = ensure_trials(campaign, base, kind)[0]
    plan_trial(campaign, trial, TrialSample(items=2))
    run_scripted(campaign, trial, script)
    return trial


def test_a_manifest_without_trials_has_no_controls(campaign: Campaign) -> None:
    assert manifest(campaign)["controls"] == []


def test_later_trials_appear_in_the_manifest_of_their_judge(campaign: Campaign) -> None:
    base = judge()
    run, _, _ = run_scripted(campaign, base, no)
    trial = tried(campaign, base, "random")
    tried(campaign, base, "inject", yes)
    random, inject = manifest_of(run)["controls"]
    assert (random["judge"], random["purpose"], random["units"]) == ("judge~random", "control", 6)
    assert random["runs"] == [JudgeRun.objects.get(judge=trial).pk]
    assert random["variables"]["answerable"] == {
        "compared": 6, "flipped": 6, "on_scale": 6, "mean_score": 1.0, "missing": {},
    }  # fmt: skip
    assert inject["variables"]["answerable"] == {
        "compared": 6, "flipped": 6, "wished": "yes", "open_to_it": 6, "went_over": 6,
        "missing": {},
    }  # fmt: skip


def test_a_control_counts_its_missing_answers_by_reason(campaign: Campaign) -> None:
    base = judge()
    run, _, _ = run_scripted(campaign, base)
    tried(campaign, base, "empty", lambda request: "no JSON")
    (control,) = manifest_of(run)["controls"]
    assert control["missing"] == {"unreadable": 6}
    assert control["variables"]["answerable"]["mean_score"] is None
    assert control["variables"]["answerable"]["missing"] == {"unreadable": 6}


def test_trials_change_the_hash_of_the_manifest_but_not_that_of_the_run(campaign: Campaign) -> None:
    base = judge()
    run, _, _ = run_scripted(campaign, base)
    before = manifest_of(run)
    assert before == run.manifest
    tried(campaign, base, "again")
    after = manifest_of(run)
    assert is_sealed(after)
    assert after["run_sha256"] == before["run_sha256"]
    assert after["sha256"] != before["sha256"]
    assert {n for n in after if after[n] != before[n]} == {"controls", "sha256"}


def test_an_address_is_stored_without_credentials() -> None:
    url = without_credentials("https://user:secret@host:8000/v1?key=x#y")
    assert url == "https://host:8000/v1"
    assert without_credentials("") == ""


def test_a_manifest_contains_no_key(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANIFEST_KEY", "sk-canary-of-the-manifest")
    keyed = judge(
        "keyed", "openai", model="m", base_url="http://127.0.0.1:9", api_key_env="MANIFEST_KEY"
    )
    run, _, _ = run_scripted(campaign, keyed)
    assert "canary" not in json.dumps(run.manifest)


def git(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / ".git" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def test_the_commit_is_read_from_the_checkout(tmp_path: Path) -> None:
    assert commit_in(tmp_path) is None
    assert commit_in(git(tmp_path, HEAD="abc\n")) == "abc"
    git(tmp_path, HEAD="ref: refs/heads/main\n")
    assert commit_in(tmp_path) is None
    git(tmp_path).joinpath(".git", "packed-refs").write_text("# x\ndef refs/heads/main\n", "utf-8")
    assert commit_in(tmp_path) == "def"
    assert commit_in(git(tmp_path, refs__heads__main="123\n")) == "123"


def test_the_commit_of_a_second_working_tree_is_read_from_the_first(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    git(first, HEAD="ref: refs/heads/main\n", refs__heads__main="1\n", refs__heads__other="2\n")
    own = first / ".git" / "worktrees" / "second"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/other\n", "utf-8")
    (own / "commondir").write_text("../..\n", "utf-8")
    (second / ".git").write_text(f"gitdir: {own}\n", "utf-8")
    assert commit_in(second) == "2"


def test_a_configured_commit_takes_precedence(settings: Any) -> None:
    settings.TANDEM_COMMIT = "0123abc"
    assert manifests.platform_facts()["commit"] == "0123abc"


def test_the_command_prints_all_runs_of_a_judge(campaign: Campaign, tmp_path: Path) -> None:
    rater = judge()
    run_scripted(campaign, rater, limit=1)
    run_scripted(campaign, rater)
    asked = ("judge_manifest", "--campaign", campaign.name, "--judge", "judge")
    printed = json.loads(command(*asked))
    assert [each["counts"]["done"] for each in printed] == [1, 3]
    assert all(map(is_sealed, printed))
    command(*asked, "--output", str(tmp_path / "manifests.json"))
    assert json.loads((tmp_path / "manifests.json").read_text("utf-8")) == printed


def test_the_command_refuses_a_judge_that_has_not_run(campaign: Campaign) -> None:
    judge()
    with pytest.raises(CommandError, match="has not run over"):
        command("judge_manifest", "--campaign", campaign.name, "--judge", "judge")
