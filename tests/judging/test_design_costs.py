"""What an account's judges would cost for a design that has not been created yet."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from annotation.campaign_setup.dry_run import JudgeCost
from annotation.models import User
from annotation.protocols import PROTOCOLS
from datasets.models import Team
from judging.estimate import design_costs
from judging.models import Judge, Price
from tests.judging.cast import judge
from tests.judging.judge_file.test_document import GRADED
from tests.team_cast import give_away

pytestmark = pytest.mark.django_db
COVERAGE = PROTOCOLS["report-coverage"]
GUIDELINE = len(COVERAGE.guideline)
ROUGHLY = "roughly, at four characters a token"


@pytest.fixture
def rita() -> User:
    return User.objects.create(username="rita", role="researcher")


def served(name: str, **fields: Any) -> Judge:
    return judge(name, "openai", **{"model": "m", "base_url": "http://127.0.0.1:9"} | fields)


def priced(model: str = "m", **fields: Any) -> None:
    amounts = {"prompt": 1000, "cached": 1, "completion": 3000}
    Price.objects.create(**{"model": model, "since": timezone.now().date()} | amounts | fields)


def costs(user: User, protocol: str = "report-coverage", **counts: int) -> list[JudgeCost]:
    found: Any = SimpleNamespace(**{"items": 10, "units": 30, "characters": 4000} | counts)
    batch: Any = None
    return design_costs(user, PROTOCOLS[protocol], batch, found)


def paid(prompt: float, completion: int) -> Decimal:
    return Decimal(round(prompt)) / 1000 + Decimal(completion) * 3 / 1000


def test_each_request_counts_the_guideline_and_the_texts_of_its_item_or_unit(rita: User) -> None:
    priced()
    served("whole")
    served("units", granularity="unit")
    assert costs(rita) == [
        JudgeCost("units", paid((12_000 + 30 * GUIDELINE) / 4, 1800), ROUGHLY),
        JudgeCost("whole", paid((4000 + 10 * GUIDELINE) / 4, 1800), ROUGHLY),
    ]
    one = costs(rita, items=1, units=3)
    assert [each.cost for each in one] == [
        paid((12_000 + 3 * GUIDELINE) / 4, 180), paid((4000 + GUIDELINE) / 4, 180),
    ]  # fmt: skip
    nothing = costs(rita, items=0, units=0, characters=0)
    assert [each.cost for each in nothing] == [0, 0]


def test_an_unknown_cost_has_its_reason_and_a_judge_without_a_server_is_free(rita: User) -> None:
    priced(since=timezone.now().date() + timedelta(days=2))
    judge("words")
    served("unpriced")
    served("their price", model="theirs")
    wrong = served("wrong")
    Judge.objects.filter(pk=wrong.pk).update(base_url="no address")
    priced("theirs", team=Team.objects.create(name="others"))
    (mistaken, *others) = costs(rita)
    assert (mistaken.judge, mistaken.cost) == ("wrong", None)
    assert "no address" in mistaken.note
    assert others == [
        JudgeCost("their price", None, "no price known"),
        JudgeCost("unpriced", None, "no price known"),
        JudgeCost("words", Decimal(0), "asks no server"),
    ]


def test_the_six_newest_judges_of_an_account_are_estimated_without_trials(rita: User) -> None:
    made = [judge(f"j{n}") for n in range(9)]
    give_away(made[8])
    Judge.objects.filter(pk=made[7].pk).update(base=made[0])
    assert [each.judge for each in costs(rita)] == ["j6", "j5", "j4", "j3", "j2", "j1"]


def test_a_judge_file_is_estimated_only_for_its_own_protocol(rita: User) -> None:
    judge("plain")
    graded = judge("graded")
    Judge.objects.filter(pk=graded.pk).update(file=GRADED)
    assert [each.judge for each in costs(rita)] == ["plain"]
    assert [each.judge for each in costs(rita, "grounding-relevance")] == ["graded", "plain"]
