"""Whatever the description allows, and some that it does not: no call breaks anything, and every
answer is as described. Made up by schemathesis, the same in each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotation.models import User
from config.wsgi import application
from datasets.models import Upload
from tests.api.cast import body, place, script_of
from tests.api.test_description import description
from tests.page_cast import Study, plant

api = schemathesis.openapi.from_dict(description())
api.app = application
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def filled(study: Study) -> Study:
    """With an answer of Ada's, and others beside it."""
    mine = study.assignment(study.ada)
    script_of(study.ada).put(place(mine, "response/"), body("yes", "no", "no"))
    plant(study)
    return study


@pytest.fixture(autouse=True)
def _one_connection(filled: Study) -> Iterator[None]:
    """A request's end would close the connection that this test's own transaction is on.

    Django's test client sees to it by itself, and connects the signals again: so this comes last.
    """
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("name", ["ada", "rita"])
@api.parametrize()
@FEW
def test_every_answer_is_as_described(case: Any, filled: Study, name: str) -> None:
    user: User = getattr(filled, name)
    # What speaks WSGI here does not unpack what is packed on the way.
    plain = {"Authorization": f"Token {script_of(user).token}", "Accept-Encoding": "identity"}
    assert case.call_and_validate(headers=plain, checks=CHECKS).status_code < 500
    if case.path_parameters:
        own = filled.assignment(user)
        sent = Upload.objects.create(user=user, name="sent", state="ready", digest="0" * 64)
        real = {"id": filled.campaign.pk, "uid": str(own.uid), "position": 0, "key": sent.key}
        case.path_parameters = {key: real[key] for key in case.path_parameters}
        assert case.call_and_validate(headers=plain, checks=CHECKS).status_code < 500
