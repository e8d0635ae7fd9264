"""Jobs: reports, exports and other computations that workers carry out, never the web server.

`ask` is what pages and the API call: it returns the job of a question and the last finished one of
the same question, and computes nothing. The apps register their kinds of jobs in modules called
`kinds` (`datasets.work.kinds`). A job waits in the queue (`queue`) until a worker (`worker`,
`manage.py work`, or a task of Celery) takes it and carries it out in a process of its own
(`execution`). Its result is a file (`results`), which is given to everybody who asks the same while
nothing that it depends on has changed.
"""

from __future__ import annotations

from datasets.work.kinds import (
    JobError,
    Kind,
    Options,
    Progress,
    Publish,
    Result,
    register,
    register_name,
)
from datasets.work.queue import JobRequest, TooManyError
from datasets.work.requests import ask

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
