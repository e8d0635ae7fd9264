"""Working on a run from the lease to its end, in the foreground and in workers alike."""

from __future__ import annotations

import uuid
from contextlib import suppress

from django.db import Error, InterfaceError, OperationalError, connection

from datasets.text import sentences
from judging import runs
from judging.asking import Patience
from judging.backends import BACKENDS
from judging.backends.base import Backend, Setup
from judging.engine import Control, Ending, pump
from judging.models import Judge, JudgeRun
from judging.preparing import Preparer
from judging.prompting import read_prompt

CONCURRENCY = 16
State = JudgeRun.State
_STATES = {"finished": State.DONE, "fatal": State.STOPPED, "stopped": State.INTERRUPTED}


def backend_of(judge: Judge) -> Backend:
    """The backend of a judge's definition. Raises SetupError."""
    return BACKENDS[judge.backend](
        Setup(judge.model, judge.base_url, judge.api_key_env, judge.params, sentences)
    )


def work(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control | None = None,
    backend: Backend | None = None,
    patience: Patience | None = None,
) -> Ending:
    """Works on a run under a lease, and gives the lease back with the state the run is in then.

    A queued run that was stopped, or whose time is over, stays active for the next worker.
    """
    try:
        prompt = read_prompt(runs.prompt_of(run.judge, run.campaign))
        backend = backend or backend_of(run.judge)
        preparer = Preparer(run.campaign, run.judge, prompt, backend)
        concurrency = int(run.judge.params.get("concurrency", CONCURRENCY))
        ending = pump(run, lease, preparer, concurrency, patience, control)
    except (OperationalError, InterfaceError):
        # The database was away for a moment, which is no fault of the run: whoever finds its lease
        # given back or run out goes on with it.
        with suppress(Error):
            connection.close()
            runs.hand_over(run, lease)
        raise
    except Exception as error:
        runs.finish(run, lease, State.STOPPED, f"{type(error).__name__}: {error}")
        raise
    if ending.how == "time" or (ending.how == "stopped" and run.queued):
        runs.hand_over(run, lease)
    elif ending.how != "lost":
        runs.finish(run, lease, _STATES[ending.how], ending.error)
    return ending
