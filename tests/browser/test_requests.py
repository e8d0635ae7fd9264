"""The open requests of the live server, so that no test begins before they have ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started

from tests.browser.chromium import Requests

THREAD = "process_request_thread of this test"


def _fails(**_: object) -> None:
    raise RuntimeError("no database between two tests")


@pytest.fixture
def failing() -> Iterator[None]:
    """Fail at the end of a request, as closing its connection may."""
    request_finished.connect(_fails)
    yield
    request_finished.disconnect(_fails)


def test_a_request_that_fails_while_finishing_counts_as_finished(failing: None) -> None:
    requests, counts = Requests(), list[int]()

    def served() -> None:
        request_started.send(sender=None)
        counts.append(requests.count)
        with pytest.raises(RuntimeError):
            request_finished.send(sender=None)
        counts.append(requests.count)

    thread = threading.Thread(target=served, name=THREAD)
    thread.start()
    thread.join()
    assert counts == [1, 0]
    requests.let_end()
