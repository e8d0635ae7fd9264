"""Slow computations are for workers and commands: a request that calls it by mistake is noticed.

`for_workers` marks a function that reads or computes in proportion to the labels of a campaign or
the texts of a batch. A request is answered within `answering_request`. A job runs within
`outside_request`, since tests carry it out in the request that asked for it. The tests, whose
crawler opens every page, fail at such a call; a site logs it and continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from django.conf import settings

logger = logging.getLogger("tandem.jobs")
Params = ParamSpec("Params")
ResultT = TypeVar("ResultT")
_answering: ContextVar[bool] = ContextVar("a_request_is_being_answered", default=False)


class InRequestError(AssertionError):
    """A request computes something that only workers should."""


def for_workers(function: Callable[Params, ResultT]) -> Callable[Params, ResultT]:
    """Mark a function that no request may call. Raises InRequestError in tests if one does."""

    @wraps(function)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> ResultT:
        if _answering.get():
            _report(f"{function.__module__}.{function.__qualname__}")
        return function(*args, **kwargs)

    return called


def _report(name: str) -> None:
    message = f"{name} takes long, and a request called it; make it a job (datasets.work)"
    if settings.JOBS_STRICT:
        raise InRequestError(message)
    logger.warning(message)


@contextmanager
def answering_request() -> Iterator[None]:
    """Note that a request is being answered."""
    token = _answering.set(True)
    try:
        yield
    finally:
        _answering.reset(token)


@contextmanager
def outside_request() -> Iterator[None]:
    """Note that what follows is a job's, although this thread may be answering a request."""
    token = _answering.set(False)
    try:
        yield
    finally:
        _answering.reset(token)
