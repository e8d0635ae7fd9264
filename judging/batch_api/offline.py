"""Runs on vLLM without a server: a folder with a run's requests and a program that answers them.

The folder goes to a machine with a GPU, `runner.py` answers there, and the folder comes back. It
has `requests.jsonl`, in the batch format and with the digest of each request, `manifest.json` for
the runner, and a `README.md`. The runner adds `results.jsonl` and `facts.jsonl`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from annotation.models import Campaign
from datasets.atomic_files import new_file
from datasets.console import Tick
from judging.backends.base import ANY_FORM, Facts, Message, Request, SetupError
from judging.backends.vllm_server import PARAM_FLAGS
from judging.batch_api import requests, runner
from judging.batch_api.format import BatchError, already_exists, cannot_write, detect_kind
from judging.batch_api.results import describe_loaded, describe_written, load_results
from judging.judge_backends import build_backend
from judging.models import ACTIVE, Judge, JudgeRun
from judging.runs.lifecycle import refuse_lost_lease

README = "README.md"
RUNNER = Path(runner.__file__)
CHAT = "/v1/chat/completions"
MAX_FACTS, MAX_FACTS_BYTES = 100, 20_000
# Like the server that Tandem starts itself; see `judging.backends.vllm_server`.
ENGINE: dict[str, Any] = {
    "seed": 0,
    "enable_prefix_caching": True,
    "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
}
NEXT_STEPS = "Its README.md says how to have them answered; then give the same command again."
REST = "start the runner again in the folder, or abandon them with --stop"


@refuse_lost_lease()
def exchange(
    campaign: Campaign,
    judge: Judge,
    folder: Path,
    limit: int | None,
    reuse: str,
    tick: Tick = lambda done: None,
) -> str:
    """Write the requests to a folder or load its results, and return a line for people.

    Raises the errors of `requests.write` and `load_results`.
    """
    is_new = not has_requests(folder)
    interrupted = requests.finish_interrupted(campaign, judge)
    if interrupted and "folder" not in interrupted.run.manifest["batch"]:
        return describe_written(interrupted)
    if is_new:
        written = interrupted or _write(campaign, judge, folder, limit, reuse, tick)
        if written.files:
            _add_runner(written.files[0].parent, written.run)
        return describe_written(written, NEXT_STEPS)
    run = _run_in(campaign, judge, folder)
    if run is not None and run.state in ACTIVE:
        _add_runner(folder, run)
    if _has_results(folder):
        path, facts = folder / runner.RESULTS, list(_facts(folder))
        return describe_loaded(path, load_results(campaign, judge, path, tick, facts), REST)
    if run is None or run.state not in ACTIVE:
        stands = f"of {run}, which is {run.state}" if run else f"not of judge {judge}'s run"
        raise BatchError(f"{folder} has requests, but {stands}; choose a new folder")
    return f"{folder} has the requests of {run}, which wait for results. {NEXT_STEPS}"


def has_requests(folder: Path) -> bool:
    """Return whether a folder has requests or results already."""
    return (folder / runner.REQUESTS).exists() or _has_results(folder)


def _write(
    campaign: Campaign, judge: Judge, folder: Path, limit: int | None, reuse: str, tick: Tick
) -> requests.BatchFiles:
    check_answerable(judge)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise already_exists(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        path = folder / runner.REQUESTS
        return requests.write(campaign, judge, path, limit, reuse, tick, offline=True)
    finally:
        # Nothing was written if all answers were known, or if the run could not start.
        with suppress(OSError):
            folder.rmdir()


def check_answerable(judge: Judge) -> None:
    """Check that the runner can answer a judge's requests. Raises SetupError."""
    backend = requests.check_writable(build_backend(judge))
    if backend.batch_url != CHAT:
        raise SetupError(
            "vLLM without a server answers chat completions only; leave --param api out of the "
            "judge, or leave --offline out"
        )
    facts = Facts("", (), (), unit_by_unit=True)
    body = backend.body(Request((Message("user", "?"),), ANY_FORM, facts))
    if unknown := runner.unknown_keys(body):
        raise SetupError(
            f"vLLM without a server does not take {unknown[0]!r}; leave it out of the judge's "
            "params, or leave --offline out"
        )


def _run_in(campaign: Campaign, judge: Judge, folder: Path) -> JudgeRun | None:
    """Return the run of this judge whose requests are in a folder, if there is one."""
    path = folder / runner.REQUESTS
    if not path.exists():
        return None
    _, named = detect_kind(path)
    ours = JudgeRun.objects.filter(campaign=campaign, judge=judge)
    found = ours.filter(pk=named).first() if named is not None else None
    return found if found and found.manifest.get("batch", {}).get("folder") else None


def _has_results(folder: Path) -> bool:
    """Return whether a folder has at least one complete line of results."""
    with suppress(OSError), (folder / runner.RESULTS).open("rb") as file:
        return file.readline().endswith(b"\n")
    return False


def _facts(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the runner's facts about itself, at most one record for each of its latest starts."""
    try:
        lines = (folder / runner.FACTS).read_bytes().splitlines()[-MAX_FACTS:]
    except OSError:
        return
    for line in lines:
        # Facts are only descriptive, so a damaged line must not block the answers.
        with suppress(ValueError, RecursionError):
            found = json.loads(line[:MAX_FACTS_BYTES])
            if isinstance(found, dict):
                yield found


def _add_runner(folder: Path, run: JudgeRun) -> None:
    """Write the missing files that belong beside the requests. Raises BatchError."""
    manifest = json.dumps(_manifest(run), indent=2, ensure_ascii=False) + "\n"
    texts = {
        runner.MANIFEST: manifest.encode(),
        RUNNER.name: RUNNER.read_bytes(),
        README: _readme(folder, run).encode(),
    }
    try:
        for name, text in texts.items():
            if not (folder / name).exists():
                with new_file(folder / name) as file:
                    file.write(text)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _manifest(run: JudgeRun) -> dict[str, Any]:
    """Return the facts for the runner, and for people who read the folder."""
    judge, (file,) = run.judge, run.manifest["batch"]["files"]
    given = {
        flag.strip("-").replace("-", "_"): judge.params[name]
        for name, flag in PARAM_FLAGS.items()
        if name in judge.params
    }
    return {
        "run": run.pk,
        "campaign": run.campaign.name,
        "judge": judge.rater.name,
        "model": judge.model,
        "revision": judge.params.get("revision"),
        "engine": ENGINE | given,
        "sampling": run.manifest["sampling"],
        "prompt_sha256": run.prompt_sha256,
        "tandem": run.manifest["platform"],
        "requests": {"file": file["name"], "count": file["requests"], "sha256": file["sha256"]},
    }


def _readme(folder: Path, run: JudgeRun) -> str:
    names = [run.campaign.name, run.judge.rater.name, str(folder)]
    campaign, judge, place = map(shlex.quote, names)
    return f"""\
# Requests of {run} for vLLM without a server

1. Copy this folder to a machine that has vLLM and can load `{run.judge.model}`.
2. Start the runner there, with the Python of vLLM's environment. If it is killed, start it again:
   it asks only for what is missing. `python runner.py --help` lists its options, such as `--model`
   for the model's place on that machine, `--tensor-parallel-size` and `--limit`.

       python runner.py

3. Copy `results.jsonl` and `facts.jsonl` back into this folder and load them:

       tandem judge run --campaign {campaign} --judge {judge} --offline {place}

The last command may also be given while answers are still missing: it loads those that are there.
`requests.jsonl` and `manifest.json` must stay as they are.
"""
