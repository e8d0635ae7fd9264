"""No annotator's page depends on other raters' labels, or on whether an item is gold.

Each page is requested before and after others answered: its text, its headers and its number of
database queries must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.http import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.imports.gold import set_known
from annotation.models import Assignment, Campaign, rater_of
from tests.api.cast import Script, script_of
from tests.cast import Line, write_lines
from tests.page_cast import Study, client_of, make_study, page, payload, plant, study_of
from tests.security.world import HIDDEN

pytestmark = pytest.mark.django_db
REASON = "planted-reason"
CHANGING = re.compile(r'(csrfmiddlewaretoken" value=|nonce=|X-Request-ID\', )[\'"][^\'"]+[\'"]')
FILTERS = (
    "campaigns/", "campaigns/?is_open=true", "campaigns/?name=Pilot", "assignments/",
    "assignments/?status=open", "assignments/?status=done", "assignments/?page_size=1",
)  # fmt: skip


def asked(get: Callable[[str], HttpResponseBase], address: str) -> tuple[int, str, int]:
    """Return status, text with headers, and number of queries of a second request.

    The first one fills caches.
    """
    get(address)
    with CaptureQueriesContext(connection) as queries:
        answer = get(address)
    text = answer.content.decode() + str(sorted(answer.headers.items()))  # type: ignore[attr-defined]
    return answer.status_code, CHANGING.sub("", text), len(queries)


def pages(mine: Assignment) -> list[str]:
    names = ("item", "progress", "guideline", "feedback", "jump")
    return [
        reverse("work"),
        reverse("finished", args=[mine.item.campaign_id]),
        *(page(name, mine) for name in names),
        reverse("nugget", args=[mine.uid, 0]),
    ]


def shown(client: Client, script: Script, mine: Assignment) -> dict[str, tuple[int, str, int]]:
    paths = [
        *FILTERS,
        *(f"assignments/{mine.uid}/{rest}" for rest in ("", "guideline/", "response/")),
    ]
    found = {address: asked(client.get, address) for address in pages(mine)}
    return found | {path: asked(script.get, path) for path in paths}


@pytest.mark.parametrize("answered", [False, True])
def test_others_labels_change_no_page_no_filter_and_no_query_count(answered: bool) -> None:
    study = make_study()
    mine = study.assignment(study.ada)
    if answered:
        submit(mine, payload("no", "mine"), "page")
    client, script = client_of(study.ada), script_of(study.ada)
    before = shown(client, script, mine)
    plant(study)
    after = shown(client, script, mine)
    for address, page_before in before.items():
        assert after[address] == page_before, address
        assert not any(secret in page_before[1] for secret in HIDDEN), address


def query(n: int) -> Line:
    return {
        "id": f"q{n}",
        "text": "Is it so?",
        "questions": [{"id": f"q{n}:a", "text": "When?"}],
        "reports": [{"id": f"r{n}", "text": "It is so.", "system": "one"}],
    }


def with_gold(folder: Path) -> Study:
    """Create a study of twelve similar items. The last three are gold; one in four is shown."""
    study = study_of("report-coverage", folder, lines=[query(n) for n in range(12)])
    known = [
        {"item": f"r{n}", "unit": f"q{n}:a", "variable": "answerable", "value": "invalid",
         "rater": "known", "meta": {"reason": REASON}}
        for n in (9, 10, 11)
    ]  # fmt: skip
    set_known([write_lines(folder / "known.jsonl", known)], study.campaign, "gold")
    Campaign.objects.update(gold_every=4)
    study.campaign.refresh_from_db()
    return study


def test_a_gold_item_is_indistinguishable_from_others(tmp_path: Path) -> None:
    study = with_gold(tmp_path)
    client, script, rater = client_of(study.ada), script_of(study.ada), rater_of(study.ada)
    uses, costs, numbers, answers = [], set(), [], set()
    while (mine := next_assignment(study.campaign, rater)) is not None:
        uses.append(mine.item.use)
        shown = asked(client.get, page("item", mine))
        numbers.append(re.search(r'id="jump" name="number" value="(\d+)"', shown[1])[1])  # type: ignore[index]
        api = asked(script.get, f"assignments/{mine.uid}/")
        assert REASON not in shown[1] + api[1]
        assert "gold" not in shown[1] + api[1]
        costs.add((shown[2], api[2]))
        sent = {"units": {mine.asked[0]: {"answerable": "no", "evidence": []}}}
        saved = script.put(f"assignments/{mine.uid}/response/", sent)
        feedback = client.get(page("feedback", mine)).status_code
        answers.add((saved.status_code, tuple(sorted(saved.json())), feedback))
    assert {"gold", "study"} == set(uses)
    assert uses[-1] == "study" or "gold" in uses[:-1]
    assert numbers == [str(n) for n in range(1, len(uses) + 1)]
    assert len(answers) == 1
    assert len(costs) == 1, costs


def test_a_practice_item_shows_gold_answers_only_after_the_answer(tmp_path: Path) -> None:
    study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(3)])
    known = {"item": "r0", "unit": "q0:a", "variable": "answerable", "value": "invalid",
             "rater": "known", "meta": {"reason": REASON}}  # fmt: skip
    set_known([write_lines(tmp_path / "known.jsonl", [known])], study.campaign, "practice")
    study.campaign.refresh_from_db()
    mine = study.assignment(study.ada)
    client, script = client_of(study.ada), script_of(study.ada)
    assert mine.item.use == "practice"
    for address, (_, text, _) in shown(client, script, mine).items():
        assert REASON not in text, address
    assert client.get(page("feedback", mine)).status_code == 404
    submit(mine, {"units": {"q0:a": {"answerable": "no", "evidence": []}}, "comment": None}, "page")
    assert REASON in client.get(page("feedback", mine)).content.decode()
    assert client_of(study.ben).get(page("feedback", mine)).status_code == 404
    assert client_of(study.rita).get(page("feedback", mine)).status_code == 404
