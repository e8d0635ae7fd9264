"""The backends of a judge's definition, built for a run, an estimate or one request."""

from __future__ import annotations

from collections import Counter
from typing import cast

from datasets.text import sentences
from judging.backends import BACKENDS
from judging.backends.base import Addressed, Backend, Setup, SetupError
from judging.backends.contents import ADDRESSES
from judging.models import Judge
from judging.servers import listed_hosts_for


def build_backend(judge: Judge) -> Backend:
    """Build the backend of a judge's definition, at its first address. Raises SetupError."""
    return BACKENDS[judge.backend](setup_of(judge))


def backends_of(judge: Judge) -> list[Backend]:
    """Build a judge's backends, one for each address. Raises SetupError."""
    return with_further_addresses(build_backend(judge), judge)


def with_further_addresses(first: Backend, judge: Judge) -> list[Backend]:
    """Return a judge's backend at its first address, and those at the others.

    The first one's endpoint stands for all in the hashes of requests. Raises SetupError.
    """
    others = judge.params.get(ADDRESSES, ())
    every = [first, *(cast("Addressed", first).at(url) for url in others)]
    named, times = Counter(each.endpoint for each in every).most_common(1)[0]
    if times > 1:
        raise SetupError(f"the address {named} is given twice; give it once")
    return every


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
