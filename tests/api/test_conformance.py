"""Calls that the description allows, and some that it does not: none breaks the server, and every
answer matches the description. schemathesis generates them, the same in each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
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

from analysis.campaigns.reports import campaign_report
from analysis.frozen.store import freeze
from analysis.models import FrozenReport, StudyPart
from analysis.models import Study as StudyOfFile
from annotation.answers.submission import submit
from annotation.models import Assignment, Campaign, Invitation, User, rater_of
from annotation.people.invitations import invite
from annotation.people.membership import add_member
from annotation.preparation.steps.questions import CRITERIA
from annotation.registry import STEPS
from datasets.models import Batch, Team, Upload
from judging.models import Judge, JudgeCall, JudgeRun
from judging.preparation.status import campaign_for
from tandem.labels.selection import ReportOptions
from tests.api.cast import body, place, script_of
from tests.api.test_description import description
from tests.databases import rolled_back, rolling_back
from tests.extent import Extent
from tests.page_cast import Study, make_study, payload, plant

# The coverage phase generates thousands of calls while the tests are collected.
CALLS = schemathesis.config.SchemathesisConfig.from_dict(
    {"phases": {"coverage": {"enabled": Extent.everything}}}
)
api = schemathesis.openapi.from_dict(description(), config=CALLS)
api.app = get_wsgi_application()
ADMINS = ("/api/v1/people/", "/api/v1/audit/")
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
FEW = settings(
    max_examples=5 if Extent.everything else 2,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Filled:
    """A study, its adjudicator, and a token for each of its accounts."""

    study: Study
    dora: User
    tokens: Mapping[str, str]


def fill(study: Study) -> Filled:
    """Add an answer by Ada and answers by others; Dora decides where they disagree."""
    mine = study.assignment(study.ada)
    script_of(study.ada).put(place(mine, "response/"), body("yes", "no", "no"))
    row = plant(study)[-1]
    judge = Judge.objects.create(rater=row.rater, backend="lexical")
    run = JudgeRun.objects.create(campaign=study.campaign, judge=judge, prompt_sha256="0" * 64)
    JudgeCall.objects.create(
        run=run, assignment=row, attempt=1, request_hash="0" * 64, state="answered",
        completion="no", sent_at=timezone.now(), seconds=0.1,
    )  # fmt: skip
    freeze(
        study.campaign, campaign_report(study.campaign, ReportOptions(resamples=2)), "", study.rita
    )
    chain = StudyOfFile.objects.create(name="chain", preset="crux")
    StudyPart.objects.create(study=chain, kind="campaign", name="t", campaign=study.campaign)
    dora = User.objects.create(username="dora", role="annotator")
    add_member(study.campaign, dora, "adjudicator")
    invite("annotator", study.campaign, by=study.rita)
    Upload.objects.create(user=study.rita, name="sent", state="ready", digest="0" * 64)
    item = study.campaign.items.latest("position")
    hers = Assignment.objects.create(item=item, rater=rater_of(study.rita), asked=row.asked)
    submit(hers, payload("no"), "api")
    _prepared(study, judge)
    users = (study.ada, study.rita, study.root, dora)
    return Filled(study, dora, {user.username: script_of(user).token for user in users})


def _prepared(study: Study, judge: Judge) -> None:
    """Let Rita begin a step of preparation and a judge write for it."""
    campaign = campaign_for(study.campaign.batch, STEPS["questions"], study.rita)
    codes = dict.fromkeys(CRITERIA, "yes") | {"kind": "factual", "category": "society"}
    row = Assignment.objects.create(item=campaign.items.get(), rater=judge.rater, asked=["q"])
    submit(row, {"units": {"q": codes}, "comment": None}, "judge")


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[Filled]:
    """Created once, since it takes longer than most tests; each test returns to this state."""
    with rolled_back(django_db_blocker):
        yield fill(make_study(people=3))


@pytest.fixture
def filled(made: Filled, db: None) -> Filled:
    return made


def things(study: Study, user: User, path: str, names: Iterable[str]) -> dict[str, object]:
    """Return values that exist for an address's parameters, so that it is not a 404."""
    lists: dict[str, Any] = {
        "batches": Batch.objects,
        "people": User.objects.filter(username="ben"),
        "invitations": Invitation.objects,
        "judges": Judge.objects,
        "studies": StudyOfFile.objects,
        "teams": Team.objects,
        "runs": JudgeRun.objects,
        "calls": JudgeCall.objects,
        "campaigns": Campaign.objects.filter(pk=study.campaign.pk),
    }
    of = path.split("/")[3]
    written = Assignment.objects.filter(item__campaign__protocol="prepare-questions")
    mine = Assignment.objects.filter(rater__user=user)
    found: dict[str, Callable[[], object]] = {
        "id": lambda: lists[of].earliest("pk").pk,
        "key": lambda: (FrozenReport if of == "reports" else Upload).objects.earliest("pk").key,
        "uid": lambda: (written if of == "preparation" else mine).earliest("pk").uid,
        "step": lambda: "questions",
        "paper": lambda: "crux",
        "unit": lambda: study.campaign.items.earliest("position").units.get(name="q:0").pk,
        "rater": lambda: rater_of(study.ben).pk,
        "position": lambda: 0,
        "what": lambda: "labels",
        "form": lambda: "csv",
        "name": lambda: "graded-relevance",
    }
    return {name: str(found[name]()) for name in names}


@pytest.fixture(autouse=True)
def _one_connection(filled: Filled) -> Iterator[None]:
    """Keep the connection of this test's transaction open, which the end of a request would close.

    Django's test client does this itself and reconnects the signals, so this fixture comes last.
    """
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def reader_of(filled: Filled, path: str) -> User:
    """Return the other account with the most rights at an address."""
    if "/adjudication/" in path:
        return filled.dora
    return filled.study.root if path.startswith(ADMINS) else filled.study.rita


@pytest.fixture(scope="module")
def refused() -> set[tuple[str, str]]:
    """Accounts and operations that answered them with 403; further calls would be refused too."""
    return set()


# Without a case of our own schemathesis would leave the operation out of a test's name.
@pytest.mark.every_case
@pytest.mark.parametrize("checks", [CHECKS], ids=["worker and reader"])
@api.parametrize()
@FEW
def test_every_answer_matches_the_description(
    case: Any, filled: Filled, refused: set[tuple[str, str]], checks: Any
) -> None:
    """Called by an annotator, and by the other account with the most rights."""
    for user in (filled.study.ada, reader_of(filled, case.path)):
        # The WSGI client used here does not decompress responses.
        plain = {
            "Authorization": f"Token {filled.tokens[user.username]}",
            "Accept-Encoding": "identity",
        }
        if (user.username, case.operation.label) in refused:
            continue
        # The crawler in tests/security tries ids that do not exist; these do.
        if case.path_parameters:
            case.path_parameters = things(filled.study, user, case.path, case.path_parameters)
        cache.clear()
        with rolling_back():
            status = case.call_and_validate(headers=plain, checks=checks).status_code
        assert status < 500
        if status == 403:
            refused.add((user.username, case.operation.label))
