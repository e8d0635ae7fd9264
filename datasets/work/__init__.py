"""Work in the background: jobs, uploads, judges' runs and periodic work, never in the web server.

A worker (`worker`: `manage.py work`, or a task of Celery through `pool`) is one loop: it takes due
work from `sources`, forks a process for each piece, renews its lease, and closes it. `wake` has one
look for work. The apps register their sources and their kinds of jobs in modules called `kinds`.

Jobs are reports, exports and other computations with a result. `ask` is what pages and the API
call: it returns the job of a question and the last finished one of the same question, and computes
nothing. A job waits in the queue (`queue`) until a worker carries it out (`execution`). Its result
is a file (`results`), which is given to everybody who asks the same while nothing that it depends
on has changed.
"""

from __future__ import annotations

from datasets.work.kinds import (
    JobError,
    Kind,
    Options,
    Publish,
    Result,
    register,
    register_name,
)
from datasets.work.queue import JobRequest, TooManyError
from datasets.work.requests import ask
from tandem.types import Progress

__all__ = [
    "JobError",
    "JobRequest",
    "Kind",
    "Options",
    "Progress",
    "Publish",
    "Result",
    "TooManyError",
    "ask",
    "register",
    "register_name",
]
