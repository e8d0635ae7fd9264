"""The backend of a judge's definition, built for a run, an estimate or one request."""

from __future__ import annotations

from datasets.text import sentences
from judging.backends import BACKENDS
from judging.backends.base import Backend, Setup
from judging.models import Judge
from judging.servers import listed_hosts_for


def build_backend(judge: Judge) -> Backend:
    """Build the backend of a judge's definition. Raises SetupError."""
    return BACKENDS[judge.backend](setup_of(judge))


def setup_of(judge: Judge) -> Setup:
    """Return a judge's definition as its backend needs it."""
    return Setup(
        judge.model,
        judge.base_url,
        judge.api_key_env,
        judge.params,
        sentences,
        listed_hosts_for(judge),
    )
