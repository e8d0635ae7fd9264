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
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from analysis.choices import Choices
from analysis.freezing import freeze
from analysis.models import FrozenReport
from analysis.reports import campaign_report
from annotation.models import User
from annotation.models.people import rater_of
from config.wsgi import application
from datasets.models import Upload
from judging.models import Judge, JudgeCall, JudgeRun
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
    max_examples=5,
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
    row = plant(study)[-1]
    judge = Judge.objects.create(rater=row.rater, backend="lexical")
    run = JudgeRun.objects.create(campaign=study.campaign, judge=judge, prompt_sha256="0" * 64)
    JudgeCall.objects.create(
        run=run, assignment=row, attempt=1, request_hash="0" * 64, state="answered",
        completion="no", sent_at=timezone.now(), seconds=0.1,
    )  # fmt: skip
    freeze(study.campaign, campaign_report(study.campaign, Choices(resamples=2)), "", study.rita)
    return study


def things(study: Study, user: User, path: str) -> dict[str, object]:
    """What there is for an address's parameters, so that it leads somewhere."""
    upload = Upload.objects.create(user=user, name="sent", state="ready", digest="0" * 64)
    lists: dict[str, Any] = {
        "people": User.objects.filter(username="ben"),
        "judges": Judge.objects,
        "runs": JudgeRun.objects,
        "calls": JudgeCall.objects,
    }
    of = path.split("/")[3]
    return {
        "id": lists[of].get().pk if of in lists else study.campaign.pk,
        "key": FrozenReport.objects.get().key if of == "reports" else upload.key,
        "uid": str(study.assignment(user).uid),
        "rater": rater_of(study.ben).pk,
        "position": 0,
        "what": "labels",
        "form": "csv",
    }


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
        real = things(filled, user, case.path)
        case.path_parameters = {name: real[name] for name in case.path_parameters}
        assert case.call_and_validate(headers=plain, checks=CHECKS).status_code < 500
