"""A run's manifest: its setup and its results, as JSON that contains its own hash.

A worker calls two functions under the run's lease:

- `begin(run, backend, findings)` after the server was probed. If the next worker calls it again, it
  only records that the run was resumed.
- `end(run, findings=None, limits=())` after `finish`. `findings` are those of a probe at the end,
  if there was one. `limits` is the history of the limit, as pairs of seconds and calls at once.

If a run's process died, `manifest_of` computes the end from stored data. It also updates
`controls`, since trials run after the run that they test. `run_sha256` covers everything else and
does not change after the end of the run. `sha256` covers everything.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet

from annotation.models import Campaign
from annotation.presentation import schema
from annotation.registry import get_protocol
from datasets.work.guard import for_workers
from judging.answer_files import DIGEST, SCRIPTED
from judging.answers.calls import storable
from judging.backends.addresses import without_credentials
from judging.backends.base import Backend, Findings
from judging.backends.completeness import ACCEPT, ENLARGE, PROMPT_CUT, accepts_no_reason
from judging.backends.contents import ADDRESSES, HEADERS
from judging.costs import cost_of_run
from judging.judge_file.document import file_of
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.isolation import isolation_of
from judging.prompts.perturbations import KINDS
from judging.retries import Patience
from judging.runs import ledger, shards
from judging.servers import missing_key, servers_of
from judging.trial_effects import (
    asks_for_mass,
    count_missing,
    count_units,
    pairs,
    summarise_masses,
    trials_in,
)

JSON = dict[str, Any]
FORM = 2
RUN_HASH = "run_sha256"
SAMPLING = (
    "temperature", "top_p", "seed", "max_tokens", "logprobs", "samples", "max_completion_tokens",
    "reasoning_effort", "chat_template_kwargs", "extra_body", "omit", "api",
)  # fmt: skip


def has_begun(run: JudgeRun) -> bool:
    """Whether a worker has stored the setup of the run."""
    return "platform" in run.manifest


def begin(run: JudgeRun, backend: Backend, findings: Findings) -> None:
    """Store the setup of the run. If called again, only record that the run was resumed."""
    run.refresh_from_db(fields=["manifest"])
    manifest = dict(run.manifest)
    facts = storable(dict(findings.facts))
    if has_begun(run):
        again = {"at": _now(), "version": settings.TANDEM_VERSION, "facts": facts}
        manifest["taken_up"] = [*manifest.get("taken_up", ()), again]
    else:
        manifest |= {"form": FORM, "run": run.pk, "platform": platform_facts()}
        manifest["warnings"] = list(findings.warnings)
        manifest["lane"] = {"endpoint": without_credentials(backend.endpoint), "facts": facts}
        manifest |= _judge_facts(run, backend)
    _store(run, manifest)


def end(
    run: JudgeRun, findings: Findings | None = None, limits: Sequence[tuple[float, int]] = ()
) -> None:
    """Add the results of the run and the hashes."""
    run.refresh_from_db()
    manifest = dict(run.manifest)
    if findings is not None:
        manifest["facts_at_end"] = storable(dict(findings.facts))
    if limits:
        manifest["limit_history"] = [list(each) for each in limits]
    _store(run, _outcome(run, manifest))


@for_workers
def manifest_of(run: JudgeRun) -> JSON:
    """Return the sealed manifest with the current results of the judge's trials.

    For a run that has not ended, return the manifest as it would be now.
    """
    stored = dict(run.manifest)
    if not is_sealed(stored):
        return _outcome(run, stored)
    return _sealed(stored | {"controls": _controls(run)})


def is_sealed(manifest: Mapping[str, Any]) -> bool:
    """Return whether the manifest contains its hash and the hash is right."""
    return bool(manifest) and manifest.get("sha256") == _digest(manifest)


def platform_facts() -> JSON:
    return {
        "version": settings.TANDEM_VERSION,
        "commit": settings.TANDEM_COMMIT,
        "python": platform.python_version(),
        "requirements_sha256": _file_digest(Path(settings.BASE_DIR) / "requirements.lock"),
    }


def _judge_facts(run: JudgeRun, backend: Backend) -> JSON:
    judge, campaign = run.judge, run.campaign
    params = dict(getattr(backend, "params", judge.params))
    return {
        "judge": {
            "name": judge.rater.name,
            "backend": judge.backend,
            "model": judge.model,
            "granularity": judge.granularity,
            "isolate": isolation_of(judge, campaign.protocol),
            "file": _file(judge),
            "family": judge.family or None,
            **{name: judge.params[name] for name in (HEADERS, ADDRESSES) if name in judge.params},
            "scripted": judge.backend == SCRIPTED,
            "answers_sha256": judge.params.get(DIGEST),
            "base": judge.base.rater.name if judge.base else None,
            "variation": judge.variation,
        },
        "prompt": _prompt(run),
        "schema_sha256": _schema_digest(campaign),
        "sampling": {name: params[name] for name in SAMPLING if name in params},
        "data": _data(campaign),
        "engine": {
            "retries": asdict(Patience()),
            "limit": run.limit,
            "most_tokens": run.most_tokens,
            "most_cost": _text(run.most_cost),
            "reuse": run.reuse,
            "concurrency": run.concurrency or judge.params.get("concurrency"),
            "workers": run.workers,
            "missing_key": missing_key(judge),
            "timeout": judge.params.get("timeout"),
            ACCEPT: accepts_no_reason(judge.params),
        },
    }


def _file(judge: Judge) -> JSON | None:
    if not judge.file:
        return None
    file = file_of(judge)
    about = {"title": file.title, "source": file.source, "parser": file.parser_name}
    return {"sha256": judge.file_sha256, **about, "text": judge.file}


def _prompt(run: JudgeRun) -> JSON:
    judge, protocol = run.judge, get_protocol(run.campaign)
    if judge.file:
        return {"name": "judge file", "version": None, "sha256": run.prompt_sha256}
    own = bool(judge.prompt)
    return {
        "name": judge.prompt_name if own else protocol.slug,
        "version": None if own else getattr(protocol, "prompt_version", protocol.version),
        "sha256": run.prompt_sha256,
    }


def _schema_digest(campaign: Campaign) -> str:
    asked = schema(campaign, "judges")
    kinds = sorted({variable.kind for variable in asked.variables})
    return _digest({kind: asked.unit_schema(kind) for kind in kinds})


def _data(campaign: Campaign) -> JSON:
    digest, count = hashlib.sha256(), 0
    keys = campaign.items.order_by("position").values_list("key", flat=True)
    for key in keys.iterator(chunk_size=2000):
        digest.update(f"{key}\n".encode())
        count += 1
    return {
        "batch": campaign.batch.name,
        "batch_sha256": campaign.batch.digest,
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "protocol_version": campaign.protocol_version,
        "protocol_sha256": campaign.protocol_file and campaign.protocol_file.digest,
        "options": campaign.options,
        "items": count,
        "items_sha256": digest.hexdigest(),
        "order": "the campaign's items by position, each line a key, hashed",
    }


def _outcome(run: JudgeRun, manifest: JSON) -> JSON:
    calls = JudgeCall.objects.filter(run=run).order_by()
    by_state = calls.values("state").annotate(n=Count("id")).values_list("state", "n")
    models = calls.exclude(model_returned="").values_list("model_returned", flat=True).distinct()
    ended = run.ended_at.isoformat() if run.ended_at else None
    added = {
        "times": {"started_at": run.started_at.isoformat(), "ended_at": ended},
        "state": run.state,
        "error": run.error,
        "workers_at_once": shards.count_workers(run),
        "counts": {
            "done": run.done,
            "failures": run.failures,
            "calls": run.calls,
            "calls_by_state": dict(by_state),
            **_calls_by_address(run, calls),
            "probe_calls": run.unassigned_calls.count(),
            "calls_of_unknown_cost": calls.filter(cost=None).count(),
            "reused": run.reused,
            "prompts_cut": _count_cut_prompts(run),
            "left_open": ledger.count_waiting(run.campaign, run.judge),
        },
        "usage": {
            "prompt_tokens": run.prompt_tokens,
            "cached_tokens": run.cached_tokens,
            "completion_tokens": run.completion_tokens,
            "thinking_tokens": run.thinking_tokens,
        },
        "cost": _text(cost_of_run(run)),
        "models_returned": sorted(models),
        "label_mass": _mass(run.campaign, run.judge),
        "controls": _controls(run),
    }
    return _sealed({**manifest, **added})


def _calls_by_address(run: JudgeRun, calls: QuerySet[JudgeCall]) -> JSON:
    """Return the number of calls at each address of a judge that has several."""
    if ADDRESSES not in run.judge.params:
        return {}
    names = [without_credentials(server.base_url) for server in servers_of(run.judge)]
    rows = calls.exclude(address=None).values_list("address").annotate(n=Count("id"))
    asked = dict(rows)
    return {"calls_by_address": {name: asked.get(n, 0) for n, name in enumerate(names)}}


def _sealed(manifest: JSON) -> JSON:
    """Add both hashes, each computed without itself."""
    of_run = {name: each for name, each in manifest.items() if name not in ("controls", RUN_HASH)}
    whole = manifest | {RUN_HASH: _digest(of_run)}
    return whole | {"sha256": _digest(whole)}


def warnings_of(run: JudgeRun) -> list[str]:
    """Return the warnings of the probe, and one if the server has cut prompts since."""
    cut = cut_prompts_warning(run)
    return [*(str(each) for each in run.manifest.get("warnings") or ()), *([cut] if cut else [])]


def cut_prompts_warning(run: JudgeRun) -> str:
    """Return a warning if the server cut prompts of the run to its context window, or nothing."""
    # Counted only if it can be any, since pages of runs ask again and again.
    count = _count_cut_prompts(run) if run.failures.get("too-long") else 0
    if not count:
        return ""
    prompts = "a prompt" if count == 1 else f"{count:,} prompts"
    return (
        f"the server silently cut {prompts} to its context window, so these labels are missing as "
        f"too-long; {ENLARGE}"
    )


def _count_cut_prompts(run: JudgeRun) -> int:
    return JudgeCall.objects.filter(
        run=run, state="too-long", detail__startswith=PROMPT_CUT
    ).count()


def _controls(run: JudgeRun) -> list[JSON]:
    """Return the current results of the judge's trials, from all their runs."""
    return [_control(run.campaign, trial) for trial in trials_in(run.campaign, run.judge)]


def _control(campaign: Campaign, trial: Judge) -> JSON:
    runs = JudgeRun.objects.filter(campaign=campaign, judge=trial).order_by("pk")
    return {
        "judge": trial.rater.name,
        "purpose": KINDS[trial.variation["kind"]].purpose,
        "variation": trial.variation,
        "runs": list(runs.values_list("pk", flat=True)),
        "units": count_units(campaign, trial),
        "missing": count_missing(campaign, trial),
        "label_mass": _mass(campaign, trial),
        "variables": {name: pair.counts() for name, pair in pairs(campaign, trial).items()},
    }


def _mass(campaign: Campaign, judge: Judge) -> JSON | None:
    return summarise_masses(campaign, judge) if asks_for_mass(judge) else None


def _store(run: JudgeRun, manifest: JSON) -> None:
    run.manifest = manifest
    JudgeRun.objects.filter(pk=run.pk).update(manifest=manifest)


def _digest(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON without its own hash."""
    left = {name: each for name, each in value.items() if name != "sha256"}
    text = json.dumps(left, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def stored_digest(manifest: Mapping[str, Any]) -> str | None:
    """Return the digest that a stored manifest should have: None until its run has ended."""
    return _digest(manifest) if "sha256" in manifest else None


@lru_cache(maxsize=4)
def _file_digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _text(amount: Any) -> str | None:
    return None if amount is None else f"{amount:f}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
