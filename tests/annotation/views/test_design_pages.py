"""A campaign is designed, previewed, created, changed and closed in the browser."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaigns.design import Design
from annotation.models import (
    Admission,
    Assignment,
    Campaign,
    GoldAnswer,
    Item,
    Rater,
    User,
    rater_of,
)
from annotation.protocols import PROTOCOLS
from annotation.views.new_campaign_forms import CampaignForm, TaskForm
from annotation.views.settings_forms import SettingsForm
from datasets.models import Batch, Team
from tests import cast, queue_cast
from tests.judging.cast import judge
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload
from tests.team_cast import give_away

MOST_PEOPLE = 1000

pytestmark = pytest.mark.django_db

NEW = "/campaigns/new/"
FORM = {
    "protocol": "report-coverage", "batch": "harbour", "name": "Second", "raters_per_item": "2",
    "overlap": "1", "human_share": "1", "seed": "3", "items": "random",
    "variables": ["answerable"],
}  # fmt: skip


@once
def study() -> Study:
    return make_study()


@pytest.fixture
def rita(study: Study) -> Client:
    return client_of(study.rita)


def make_campaign(name: str, batch: Batch) -> Campaign:
    return create_campaign(name, "report-coverage", batch, Design()).campaign


def at(study: Study, rest: str = "") -> str:
    return f"/campaigns/{study.campaign.pk}/{rest}"


def seen_on(page: str) -> str:
    (seen,) = re.findall(r'name="seen" value="(\w+)"', page)
    return str(seen)


def html(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return answer.content.decode()


class TestGuidedSteps:
    def test_each_task_says_how_much_it_would_ask_or_why_it_is_unsuitable(
        self, rita: Client, study: Study
    ) -> None:
        batch = study.campaign.batch
        batch.counts = {"queries": 1, "questions": 3, "reports": 2, "passages": 1}
        batch.save()
        assert f"{NEW}?batch=harbour" in html(rita, f"/batches/{batch.pk}/")
        page = html(rita, NEW, batch="harbour")
        first = page[page.index('<li class="card task first">') :]
        assert first.index("Report coverage") < first.index("recommended")
        assert PROTOCOLS["report-coverage"].summary in page
        assert "Fits: 6 questions in 2 items" in page
        assert "It has no key points." in page
        assert "No query has both a passage and a question." in page, "the passage is not there"
        assert f"/batches/{batch.pk}/preparation/" in page

    def test_typed_input_is_kept_when_going_back_until_the_campaign_is_created(
        self, rita: Client
    ) -> None:
        due = "2999-01-02T10:30"
        back = rita.post(NEW, {**FORM, "name": "Kept", "deadline": due, "back": "1"})
        assert back["Location"] == f"{NEW}?batch=harbour"
        assert "Your draft <b>Kept</b> is kept" in html(rita, back["Location"])
        form = html(rita, NEW, protocol="report-coverage", batch="harbour")
        assert 'name="name" value="Kept"' in form
        assert 'name="seed" value="3"' in form
        assert '<details class="more" open>' in form
        other = html(rita, NEW, protocol="question-typing", batch="harbour")
        assert 'name="name" value="Kept"' in other
        assert f'value="{due}"' in other
        assert 'name="seed" value="0"' in other
        assert '<details class="more">' in other
        rita.post(NEW, {**FORM, "name": "Kept"})
        again = html(rita, NEW, protocol="report-coverage", batch="harbour")
        assert 'name="name" value="harbour-report-coverage"' in again

    def test_the_annotators_page_is_shown_on_a_real_item_and_nothing_is_stored(
        self, rita: Client
    ) -> None:
        before = [model.objects.count() for model in (Campaign, Item, Rater)]
        answer = rita.post(NEW, {**FORM, "name": "Look", "guideline": "Be kind.", "page": "1"})
        page = answer.content.decode()
        assert answer.status_code == 200
        assert "This is what annotators see" in page
        assert "Who crossed the harbour?" in page
        assert "Be kind." in page
        assert "data-closed" in page
        assert [model.objects.count() for model in (Campaign, Item, Rater)] == before

    @pytest.mark.first_case
    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_every_task_has_a_preview_of_its_page(
        self, protocol: str, study: Study, tmp_path: Path
    ) -> None:
        cast.load(tmp_path, cast.BATCH)
        sent = {**FORM, "protocol": protocol, "batch": "b", "page": "1", "per_passage": "2",
                "passages": "all", "variables": []}  # fmt: skip
        answer = client_of(study.rita).post(NEW, sent)
        assert "This is what annotators see" in answer.content.decode()

    def test_a_guideline_is_shown_with_its_difference_to_the_protocols_own(
        self, rita: Client
    ) -> None:
        own = PROTOCOLS["report-coverage"].guideline
        sent = {"protocol": "report-coverage", "guideline": own + "\nBe **kind**."}
        page = rita.post(f"{NEW}guideline/", sent).content.decode()
        assert "<strong>kind</strong>" in page
        assert "<ins>Be **kind**.</ins>" in page
        assert "<del>" not in page
        same = rita.post(f"{NEW}guideline/", {**sent, "guideline": own}).content.decode()
        assert "How it differs" not in same

    def test_a_preview_says_how_much_work_and_cost_the_design_takes(
        self, rita: Client, study: Study
    ) -> None:
        for user in (study.ada, study.ben):
            while assignment := next_assignment(study.campaign, rater_of(user)):
                submit(assignment, payload("no"), "page")
        Assignment.objects.update(seconds=90.0)
        unknown = rita.post(NEW, {**FORM, "dry": "1"}).content.decode()
        assert "too few earlier answers to this task" in unknown
        judge("floor")
        judge("asked", "openai", model="m", base_url="http://127.0.0.1:9/v1")
        with patch("annotation.campaign_setup.dry_run.FEWEST", 4):
            page = rita.post(NEW, {**FORM, "dry": "1"}).content.decode()
        assert "at the pace of 4 earlier answers" in page
        assert "<dd>12</dd>" in page, "two people, six units each"
        assert "no price known" in page
        assert "asks no server" in page


class TestBatchPages:
    def test_each_batch_of_the_list_leads_to_a_new_campaign_over_it(self, rita: Client) -> None:
        assert f'href="{NEW}?batch=harbour"' in html(rita, "/batches/")

    def test_a_batch_names_the_campaigns_that_use_it_and_the_account_may_read(
        self, rita: Client
    ) -> None:
        campaign = Campaign.objects.get(batch__name="harbour")
        address = f"/batches/{campaign.batch_id}/"
        link = f'<a href="/campaigns/{campaign.pk}/"><bdi>{campaign.name}</bdi></a>'
        assert f"Used in {link}" in html(rita, address)
        Campaign.objects.filter(pk=campaign.pk).update(made_by=None)
        give_away(campaign)
        assert "Not used in any campaign that you may read" in html(rita, address)


class TestNew:
    def test_the_newest_batch_is_chosen_until_another_is_and_a_task_leads_to_the_form(
        self, rita: Client
    ) -> None:
        Batch.objects.create(name="the newest", format="native", digest="1" * 64)
        assert "New campaign over <bdi>the newest</bdi>" in html(rita, NEW)
        page = html(rita, NEW, batch="harbour")
        assert "New campaign over <bdi>harbour</bdi>" in page
        assert f"{NEW}?batch=harbour&amp;protocol=report-coverage" in page
        form = html(rita, NEW, protocol="report-coverage", batch="harbour")
        assert "Create campaign" in form
        assert 'name="variables" value="answerable"' in form
        assert 'name="per_passage"' not in form

    def test_batches_are_offered_by_name(self, rita: Client) -> None:
        Batch.objects.create(name="a first", format="native", digest="1" * 64)
        Batch.objects.create(name="the last", format="native", digest="2" * 64)
        form = TaskForm(user=User.objects.get(username="rita"))
        offered = re.findall(r'<option value="(.*?)"', str(form["batch"]))
        assert offered == ["a first", "harbour", "the last"]

    def test_all_passages_are_shown_unless_others_are_named(self, rita: Client) -> None:
        form = html(rita, NEW, protocol="rubric-passage", batch="harbour")
        assert re.search(r'name="passages" value="all"', form)
        assert re.search(r'name="per_passage" value="2" min="1" max="2147483647"', form)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("field", "least", "most"),
        [
            ("raters_per_item", 0, 1000),
            ("overlap", 0, 1),
            ("human_share", 0, 1),
            ("development", 0, 1),
            ("audit", 0, 1),
            ("seed", 0, 2**31 - 1),
            ("per_passage", 1, 2**31 - 1),
            ("people", 1, MOST_PEOPLE),
            ("gold_every", 0, 999),
            ("qualify", 0, 1),
        ],
    )
    def test_numbers_are_accepted_within_their_limits(
        self, study: Study, field: str, least: int, most: int
    ) -> None:
        form = CampaignForm({field: ""}, user=study.rita, protocol=PROTOCOLS["rubric-passage"],
                            batch=study.campaign.batch)  # fmt: skip

        def wrong(number: float) -> bool:
            form.data = {field: number}
            form.full_clean()
            return field in form.errors

        step = 0.001 if (least, most) == (0, 1) else 1
        assert [wrong(n) for n in (least - step, least, most, most + step)] == [
            True, False, False, True,
        ]  # fmt: skip

    def test_a_dry_run_has_the_same_default_assumptions_as_the_command(self, rita: Client) -> None:
        form = html(rita, NEW, protocol="report-coverage", batch="harbour")
        for name, value in asdict(Assumptions()).items():
            assert re.search(rf'name="{name}" value="{value}"', form)

    def test_an_unknown_prerequisite_is_reported(self, rita: Client) -> None:
        assert "from the lists" in html(rita, NEW, protocol="nothing", batch="harbour")

    def test_a_campaign_is_created_on_the_page(self, rita: Client, study: Study) -> None:
        sent = {**FORM, "deadline": "2999-01-02T10:30", "language": "en", "guideline": "Be kind.",
                "development": "0", "qualify": "", "gold_every": ""}  # fmt: skip
        answer = rita.post(NEW, sent)
        made = Campaign.objects.get(name="Second")
        assert (answer.status_code, answer["Location"]) == (302, f"/campaigns/{made.pk}/")
        assert (made.raters_per_item, made.seed, made.options["items"]) == (2, 3, "random")
        assert made.deadline == datetime(2999, 1, 2, 10, 30, tzinfo=UTC)
        assert (made.language, made.guideline) == ("en", "Be kind.")
        assert made.guidelines.get().by == study.rita
        assert made.options["variables"] == []

    def test_a_form_sent_twice_creates_one_campaign(self, rita: Client) -> None:
        assert [rita.post(NEW, FORM).status_code for _ in range(2)] == [302, 302]
        assert Campaign.objects.filter(name="Second").count() == 1

    def test_a_dry_run_creates_nothing_and_keeps_the_input(self, rita: Client) -> None:
        answer = rita.post(NEW, {**FORM, "dry": "1", "people": "3"})
        content = answer.content.decode()
        assert answer.status_code == 200
        assert "what this design would give" in content
        assert "2 items with 6 questions from 1 query" in content
        assert "1 query is too few for an interval" in content
        assert 'value="Second"' in content
        assert not Campaign.objects.filter(name="Second").exists()

    @pytest.mark.first_case
    @pytest.mark.parametrize(
        ("field", "value", "said"),
        [
            ("name", "Pilot", "A campaign called"),
            ("overlap", "0", "Overlap is not above 0"),
            ("raters_per_item", "-1", "greater than or equal to 0"),
            ("human_share", "nan", "number"),
            ("development", "1", "share from 0 to below 1"),
            ("deadline", "soon", "is not a time"),
            ("deadline", "1999-01-02T10:30", "not in the years 2000 to 9998"),
            ("language", "german!", "is not a tag"),
            ("gold_every", "1", "from 2 to 999"),
            ("seed", "-1", "greater than or equal to 0"),
            ("variables", "nothing", "not one of the available choices"),
            ("validates", "nobody", "nobody"),
            ("practice_of", "Pilot", "not one of the available choices"),
            ("items", "alphabetical", "not one of the available choices"),
            ("protocol", "nothing", "from the lists"),
        ],
    )
    @pytest.mark.parametrize("dry", [False, True], ids=["make", "dry run"])
    def test_the_page_refuses_what_the_command_refuses(
        self, rita: Client, study: Study, field: str, value: str, said: str, dry: bool
    ) -> None:
        sent: dict[str, Any] = {**FORM, field: value, **({"dry": "1"} if dry else {})}
        answer = rita.post(NEW, sent)
        assert answer.status_code == 422
        assert said in answer.content.decode()
        assert Campaign.objects.count() == 1

    @pytest.mark.first_case
    @pytest.mark.parametrize(
        ("field", "sent"),
        [
            ("name", {"name": "Pilot"}),
            ("overlap", {"overlap": "0"}),
            ("development", {"development": "0.6", "audit": "0.6"}),
            ("deadline", {"deadline": "soon"}),
            ("validates", {"validates": "nobody"}),
            ("kappa", {"kappa": "2"}),
        ],
    )
    def test_an_error_of_the_design_appears_at_its_field(
        self, rita: Client, field: str, sent: dict[str, str]
    ) -> None:
        answer = rita.post(NEW, {**FORM, **sent, "dry": "1"})
        assert list(answer.context["form"].errors) == [field]

    def test_an_impossible_assumption_is_reported(self, rita: Client) -> None:
        answer = rita.post(NEW, {**FORM, "dry": "1", "kappa": "2"})
        assert answer.status_code == 422
        assert "Kappa is not between 0 and 1" in answer.content.decode()

    def test_names_are_escaped_in_the_preview(self, rita: Client) -> None:
        batch = "<script>alert(1)</script>"
        Batch.objects.filter(name="harbour").update(name=batch)
        response = rita.post(NEW, {**FORM, "batch": batch, "name": "<b>x</b>", "dry": "1"})
        assert b"<script>alert" not in response.content
        assert b"<b>x</b>" not in response.content


class TestSettingsPage:
    def test_the_settings_page_shows_design_and_sample(self, rita: Client, study: Study) -> None:
        content = html(rita, at(study, "settings/"))
        assert "1 of 1 queries are sampled for people, who are asked 6 of 6 questions" in content
        assert "The batch’s order" in content

    def test_the_sample_can_be_downloaded(self, rita: Client, study: Study) -> None:
        answer = rita.get(at(study, "draws.csv"))
        assert answer["Content-Type"] == "text/csv"
        assert answer["Content-Disposition"].startswith("attachment")
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == 1 + 1 + 6

    def test_a_campaign_is_closed_and_opened(self, rita: Client, study: Study) -> None:
        for to, stands in (("closed", False), ("open", True)):
            assert rita.post(at(study, "turn/"), {"to": to}).status_code == 302
            study.campaign.refresh_from_db()
            assert study.campaign.takes_answers is stands

    def test_opening_after_the_deadline_asks_for_a_new_one(
        self, rita: Client, study: Study
    ) -> None:
        past = timezone.now() - timezone.timedelta(hours=1)  # type: ignore[attr-defined]
        Campaign.objects.update(is_open=False, deadline=past)
        answer = rita.post(at(study, "turn/"), {"to": "open"})
        assert answer.status_code == 422
        assert "its deadline is past" in answer.content.decode()

    def test_settings_are_saved_and_an_empty_field_removes_one(
        self, rita: Client, study: Study
    ) -> None:
        sent = {"deadline": "2999-01-02T10:30", "language": "en", "guideline": "Be kind.",
                "gold_every": "5", "qualify": "0.8"}  # fmt: skip
        assert rita.post(at(study, "terms/"), sent).status_code == 302
        study.campaign.refresh_from_db()
        assert (study.campaign.gold_every, study.campaign.qualify) == (5, 0.8)
        assert study.campaign.guidelines.get().by == study.rita
        content = html(rita, at(study, "settings/"))
        assert 'value="2999-01-02T10:30"' in content
        assert "Version 1" in content
        assert rita.post(at(study, "terms/"), {}).status_code == 302
        study.campaign.refresh_from_db()
        assert (study.campaign.deadline, study.campaign.qualify) == (None, None)
        assert (study.campaign.guideline, study.campaign.gold_every) == ("", 0)

    def test_the_second_of_two_concurrent_changes_is_refused(
        self, rita: Client, study: Study
    ) -> None:
        seen = seen_on(html(rita, at(study, "settings/")))
        first = {"language": "en", "guideline": "Be kind.", "seen": seen}
        assert rita.post(at(study, "terms/"), first).status_code == 302
        other = {"language": "de", "guideline": "Be strict.", "seen": seen}
        refused = rita.post(at(study, "terms/"), other)
        content = refused.content.decode()
        assert refused.status_code == 409
        assert "Another person changed the settings" in content
        assert "Language: en; Guideline: version 1 below" in content
        assert "Be strict.</textarea>" in content
        study.campaign.refresh_from_db()
        assert (study.campaign.language, study.campaign.guideline) == ("en", "Be kind.")
        again = other | {"seen": seen_on(content)}
        assert rita.post(at(study, "terms/"), again).status_code == 302
        study.campaign.refresh_from_db()
        assert study.campaign.guideline == "Be strict."

    def test_invalid_settings_change_nothing(self, rita: Client, study: Study) -> None:
        answer = rita.post(at(study, "terms/"), {"language": "!", "guideline": "Be kind."})
        assert answer.status_code == 422
        assert "is not a tag" in answer.content.decode()
        study.campaign.refresh_from_db()
        assert study.campaign.guideline == ""

    def test_a_guideline_version_shows_how_many_answers_followed_it(
        self, rita: Client, study: Study
    ) -> None:
        rita.post(at(study, "terms/"), {"guideline": "Be kind."})
        study.campaign.refresh_from_db()
        submit(study.assignment(study.ada), payload("no"), "page")
        assert "1 answer<" in html(rita, at(study, "settings/"))


class TestGold:
    def sent(self, **more: Any) -> dict[str, Any]:
        key = Item.objects.order_by("position")[0].key
        lines = "".join(
            json.dumps({"item": key, "unit": f"q:{n}", "variable": "answerable", "value": "no",
                        "rater": "us"} | more) + "\n"
            for n in range(3)
        )  # fmt: skip
        return {"use": "practice", "file": SimpleUploadedFile("../known.jsonl", lines.encode())}

    def test_a_file_creates_practice_items(self, rita: Client, study: Study) -> None:
        assert rita.post(at(study, "known/"), self.sent()).status_code == 302
        assert GoldAnswer.objects.count() == 3
        study.campaign.refresh_from_db()
        assert study.campaign.practice_of == study.campaign
        assert "1 practice item" in html(rita, at(study, "settings/"))

    def test_a_wrong_line_is_reported_and_nothing_stored(self, rita: Client, study: Study) -> None:
        answer = rita.post(at(study, "known/"), self.sent(value="maybe"))
        content = answer.content.decode()
        assert answer.status_code == 422
        assert "Line 1: campaign" in content
        assert "/tmp" not in content
        assert not GoldAnswer.objects.exists()

    def test_a_file_that_is_not_a_labels_file_is_refused(self, rita: Client, study: Study) -> None:
        file = SimpleUploadedFile("known.jsonl", b"\xff\x00nothing")
        answer = rita.post(at(study, "known/"), {"use": "gold", "file": file})
        assert answer.status_code == 422
        assert not GoldAnswer.objects.exists()

    def test_a_person_who_failed_is_admitted_with_a_reason(
        self, rita: Client, study: Study
    ) -> None:
        rita.post(at(study, "known/"), self.sent())
        Campaign.objects.update(qualify=0.9)
        study.campaign.refresh_from_db()
        ada = rater_of(study.ada)
        held = next_assignment(study.campaign, ada)
        assert held is not None
        submit(held, payload("invalid"), "page")
        assert next_assignment(study.campaign, ada) is None
        content = html(rita, at(study, "settings/"))
        assert "0 of 3" in content
        assert "Admit" in content
        address = at(study, "admit/")
        assert rita.post(address, {"rater": ada.pk, "reason": " "}).status_code == 422
        assert rita.post(address, {"rater": ada.pk, "reason": "A slip."}).status_code == 302
        row = Admission.objects.get()
        assert (row.rater, row.reason, row.by) == (ada, "A slip.", study.rita)
        assert next_assignment(study.campaign, ada) is not None
        assert "admitted" in html(rita, at(study, "settings/"))

    def test_a_judge_cannot_be_admitted(self, rita: Client, study: Study) -> None:
        judge = Rater.objects.create(name="j", kind="judge")
        sent = {"rater": judge.pk, "reason": "x"}
        assert rita.post(at(study, "admit/"), sent).status_code == 404

    def test_with_an_open_item_practice_results_are_not_shown(
        self, rita: Client, study: Study
    ) -> None:
        rita.post(at(study, "known/"), self.sent())
        study.campaign.refresh_from_db()
        held = study.assignment(study.ada)
        submit(held, payload("no"), "page")
        assert "3 of 3" in html(rita, at(study, "settings/"))
        study.assignment(study.rita)
        content = html(rita, at(study, "settings/"))
        assert "3 of 3" not in content
        assert "You have an open item in this campaign" in content


def test_a_preview_is_computed_by_a_job_and_inserted_when_ready(
    rita: Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue_cast.set_up(settings, tmp_path / "data", monkeypatch)
    sent = {**FORM, "dry": "1", "people": "3"}
    first = rita.post(NEW, sent)
    assert first.status_code == 202
    content = first.content.decode()
    assert "The preview waits." in content
    assert "press <b>Preview</b> again" in content
    assert f'value="{FORM["name"]}"' in content, "what was typed is still there"
    part = rita.post(NEW, {**sent, "seen": "older"}, headers={"HX-Request": "true"})
    assert part.content.decode().lstrip().startswith('<section id="preview-status"')
    queue_cast.run_due_jobs()
    ready = rita.post(NEW, sent, headers={"HX-Request": "true"}).content.decode()
    assert ready.lstrip().startswith('<section class="card rehearsal"')
    assert "what this design would give" in rita.post(NEW, sent).content.decode()


class TestOffers:
    def form(self, study: Study, protocol: str = "report-coverage") -> CampaignForm:
        task, batch = PROTOCOLS[protocol], study.campaign.batch
        return CampaignForm(user=study.root, protocol=task, batch=batch)

    def test_a_team_is_asked_for_if_one_manages_several(self, study: Study) -> None:
        assert "team" not in self.form(study).fields
        other = Team.objects.create(name="another")
        field = self.form(study).fields["team"]
        assert field.initial == study.campaign.batch.team
        given = self.form(study).fields["team"].clean("another")
        assert given == other

    def test_the_gap_gate_is_offered_for_second_rounds_only(self, study: Study) -> None:
        gate = self.form(study, "grounded-answer").fields["gate"]
        assert [value for value, _ in gate.choices] == ["", "gap"]  # type: ignore[attr-defined]
        assert not gate.required
        assert "gate" not in self.form(study).fields

    def test_practice_is_offered_from_readable_campaigns_and_the_current_choice(
        self, study: Study
    ) -> None:
        def offered(campaign: Campaign | None = study.campaign) -> list[str]:
            form = SettingsForm()
            form.offer_practice(study.rita, campaign)
            return [value for value, _ in form.fields["practice_of"].choices]  # type: ignore[attr-defined]

        other = make_campaign("Other", study.campaign.batch)
        for campaign in (other, study.campaign):
            campaign.items.filter(position=0).update(use="practice")
        assert offered() == ["", "Other"]
        assert offered(None) == ["", "Other", "Pilot"]
        give_away(other)
        assert offered() == [""]
        study.campaign.practice_of = other
        assert offered() == ["", "Other"], "one that is used already stays"
        study.campaign.practice_of = study.campaign
        assert offered() == [""]
