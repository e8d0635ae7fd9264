"""Campaigns close, reopen and expire by the server's clock, and guidelines have versions."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import (
    change,
    check_named,
    check_practice,
    check_settings,
    current_settings,
    may_read,
    open_now,
    settings_differ,
)
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import (
    LONGEST_CONSENT,
    CampaignSettings,
    consent_of,
    read_deadline,
)
from annotation.models import Assignment, Campaign, Item, Response, User
from annotation.people.background import Question, stored_questions
from annotation.presentation import asked_units, present, schema
from annotation.protocols import PROTOCOLS
from annotation.provenance import basis_of, guideline_digest
from audit.models import Event
from datasets.models import Batch
from judging.backends.scripted import Scripted
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from judging.runs import planning
from tests.annotation.follow_cast import answer, coverage, rater, rating
from tests.api.cast import place, script_of
from tests.cast import campaign_of, load, run
from tests.databases import rolling_back
from tests.judging.cast import judge, yes
from tests.page_cast import Study, answers, client_of, make_study, page

PAST, LATER = timedelta(minutes=-1), timedelta(hours=1)


QUESTIONS = (Question("years", "How long?", "number"),)
DUE = datetime(2999, 12, 31, tzinfo=UTC)
MADE_BEFORE = CampaignSettings(deadline=DUE, qualify=0.5)
MADE: dict[str, tuple[Any, dict[str, Any]]] = {
    "deadline": (DUE, {"deadline": DUE}),
    "language": ("de", {"language": "de"}),
    "text_view": ("rendered", {"text_view": "rendered"}),
    "guideline": (" Ours.\r\nTwice. ", {"guideline": "Ours.\nTwice."}),
    "gold_every": (5, {"gold_every": 5}),
    "registered_queries": (50, {"registered_queries": 50}),
    "qualify": (0.8, {"qualify": 0.8}),
    "consent": ("I agree. ", {"consent_version": 1}),
    "revoked": ("delete", {"revoked": "delete"}),
    "background": (QUESTIONS, {"background": stored_questions(QUESTIONS)}),
    "pay": (" 0,35 eur per item", {"pay": "0.35 EUR per item"}),
    "shares": ({"ada": 0.5}, {"shares": {"ada": 0.5}}),
    "guideline_shown": ("whole", {"trims_guideline": False}),
    "removed": (("deadline",), {"qualify": 0.5}),
}
"""Each change of a setting, and what then differs; the last one comes after `MADE_BEFORE`."""


def _made(settings: CampaignSettings, by: User) -> dict[str, Any]:
    """Apply a setting, which differs before and not after; a second time it changes nothing."""
    campaign = Campaign.objects.get()
    before = current_settings(campaign)
    if settings.removed:
        change(campaign, MADE_BEFORE)
    else:
        assert settings_differ(campaign, settings)
    assert not settings.is_empty
    change(campaign, settings, user=by)
    assert not settings_differ(campaign, settings)
    events = Event.objects.count()
    change(campaign, settings, user=by)
    assert Event.objects.count() == events
    after = current_settings(Campaign.objects.get())
    return {name: after[name] for name in after if after[name] != before[name]}


@pytest.fixture
def study(db: None) -> Study:
    return make_study()


def due(study: Study, when: timedelta | None) -> None:
    deadline = None if when is None else timezone.now() + when
    Campaign.objects.filter(pk=study.campaign.pk).update(deadline=deadline)
    study.campaign.refresh_from_db()


class TestDeadline:
    @pytest.mark.postgresql
    def test_after_the_deadline_no_item_is_assigned(self, study: Study) -> None:
        due(study, PAST)
        client, pk = client_of(study.ada), study.campaign.pk
        assert "Nothing to label" in client.get("/tasks/").content.decode()
        assert client.post(f"/tasks/next/{pk}/").status_code == 404
        script = script_of(study.ada)
        assert script.post(f"campaigns/{pk}/next/").status_code == 404
        assert script.get("campaigns/").json()["count"] == 0

    def test_the_page_says_that_the_deadline_is_past(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        due(study, PAST)
        html = client_of(study.ada).get(page("item", mine)).content.decode()
        assert "deadline is past: you can read your answers" in html
        assert "data-closed" in html

    def test_a_prerequisite_past_its_deadline_delays_nobody(self, batch: Path) -> None:
        first, second = coverage(people=2), rating()
        answer(first, "r", "ann", {"a/b#1": "yes"})
        assert next_assignment(second, rater("bo")) is None
        Campaign.objects.filter(pk=first.pk).update(deadline=timezone.now() + PAST)
        assert next_assignment(second, rater("bo")) is not None

    @pytest.mark.parametrize(
        ("text", "moment"),
        [
            ("2026-12-31", datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)),
            ("2026-12-31T17:00", datetime(2026, 12, 31, 17, 0, tzinfo=UTC)),
            ("2026-12-31T17:00+01:00", datetime(2026, 12, 31, 16, 0, tzinfo=UTC)),
        ],
    )
    def test_a_deadline_is_read(self, text: str, moment: datetime) -> None:
        assert read_deadline(text) == moment

    @pytest.mark.parametrize("text", ["soon", "2026-13-01", "2026-02-30T10:00"])
    def test_an_invalid_deadline_is_refused(self, batch: Path, text: str) -> None:
        with pytest.raises(CommandError, match="is not a time; write it as"):
            campaign_of("report-coverage", "--deadline", text)

    @pytest.mark.parametrize("text", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00+14:00"])
    def test_a_deadline_outside_the_calendar_is_refused(self, batch: Path, text: str) -> None:
        with pytest.raises(CommandError, match="is not in the years 2000 to 9998"):
            campaign_of("report-coverage", "--deadline", text)


class TestClosing:
    def test_a_campaign_is_closed_and_opened_again(self, study: Study) -> None:
        assert "is closed" in run("set_campaign", "Pilot", "--close")
        assert not Campaign.objects.filter(open_now()).exists()
        assert "is open" in run("set_campaign", "Pilot", "--open")
        assert Campaign.objects.filter(open_now()).exists()

    def test_nothing_to_change_is_an_error(self, study: Study) -> None:
        with pytest.raises(CommandError, match="Nothing to change"):
            run("set_campaign", "Pilot")


class TestGuideline:
    @pytest.fixture
    def words(self, tmp_path: Path) -> Path:
        path = tmp_path / "guideline.md"
        path.write_text("# Ours\r\n\r\nSay **yes** only if it stands there.\n", "utf-8")
        return path

    def test_a_campaigns_guideline_replaces_the_protocols(self, study: Study, words: Path) -> None:
        run("set_campaign", "Pilot", "--guideline", words)
        mine = study.assignment(study.ada)
        html = client_of(study.ada).get(page("guideline", mine)).content.decode()
        assert "Say <strong>Yes</strong> only if it stands there." in html
        guideline = script_of(study.ada).get(place(mine, "guideline/")).json()
        assert guideline["markdown"].startswith("# Ours\n")

    def test_an_answer_keeps_its_guideline_version(self, study: Study, words: Path) -> None:
        run("set_campaign", "Pilot", "--guideline", words)
        study.campaign.refresh_from_db()
        first = study.assignment(study.ada)
        form = answers("no", "no", "no", version="0", seen="0")
        client = client_of(study.ada)
        assert client.post(page("submit", first), form).status_code == 200
        words.write_text("# Ours\n\nOnly if it stands there twice.", "utf-8")
        run("set_campaign", "Pilot", "--guideline", words)
        study.campaign.refresh_from_db()
        second = study.assignment(study.ada)
        assert client.post(page("submit", second), form).status_code == 200
        digests = [row.basis.split("-")[2] for row in Response.objects.order_by("pk")
                   if row.basis]  # fmt: skip
        versions = dict(study.campaign.guidelines.values_list("digest", "version"))
        assert [versions[digest] for digest in digests] == [1, 2]

    def test_an_answer_under_the_old_guideline_is_accepted(self, study: Study, words: Path) -> None:
        mine = study.assignment(study.ada)
        spec, asked = present(mine.item), schema(study.campaign)
        seen = str(basis_of(asked, spec, asked_units(mine, spec).values()))
        run("set_campaign", "Pilot", "--guideline", words)
        form = answers("no", "no", "no", version="0", seen="0", basis=seen)
        assert client_of(study.ada).post(page("submit", mine), form).status_code == 200
        assert Response.objects.get().basis == seen

    def test_judges_read_the_campaigns_guideline(self, study: Study, words: Path) -> None:
        run("set_campaign", "Pilot", "--guideline", words)
        campaign, floor = Campaign.objects.get(), judge("floor")
        planning.plan(campaign, floor)
        row = Assignment.objects.select_related("item__query").filter(rater=floor.rater)[0]
        row.item.campaign = campaign
        prompt = read_prompt(PROTOCOLS[campaign.protocol].prompt)
        made = Preparer(campaign, floor, prompt, Scripted(yes)).prepare(row)
        assert "only if it stands there" in str(made.request.messages)

    def test_the_same_text_makes_no_new_version(self, study: Study, words: Path) -> None:
        for _ in range(2):
            run("set_campaign", "Pilot", "--guideline", words)
        row = study.campaign.guidelines.get()
        assert (row.version, row.digest) == (1, guideline_digest(row.text))

    def test_an_empty_guideline_restores_the_protocols(self, study: Study, words: Path) -> None:
        run("set_campaign", "Pilot", "--guideline", words)
        words.write_text("", "utf-8")
        assert "its protocol's guideline" in run("set_campaign", "Pilot", "--guideline", words)
        campaign = Campaign.objects.get()
        assert schema(campaign).protocol.guideline.startswith("# ")
        assert "Ours" not in schema(campaign).protocol.guideline
        assert [row.version for row in campaign.guidelines.all()] == [1, 2]

    @pytest.mark.parametrize("bad", [b"\xff", None])
    def test_an_unreadable_guideline_file_is_refused(
        self, study: Study, tmp_path: Path, bad: bytes | None
    ) -> None:
        path = tmp_path / "g.md"
        if bad:
            path.write_bytes(bad)
        with pytest.raises(CommandError, match=r"is not UTF-8|cannot be read"):
            run("set_campaign", "Pilot", "--guideline", path)


class TestSettings:
    def test_settings_may_be_given_at_creation(self, batch: Path, tmp_path: Path) -> None:
        path = tmp_path / "g.md"
        path.write_text("Be kind.", "utf-8")
        made = campaign_of(
            "report-coverage", "--deadline", "2999-12-31", "--language", "de-AT",
            "--guideline", str(path), "--gold-every", "5", "--qualify", "0.8",
        )  # fmt: skip
        assert (made.language, made.guideline, made.gold_every) == ("de-AT", "Be kind.", 5)
        assert made.qualify == 0.8
        assert made.deadline == datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)

    def test_repeating_the_command_changes_nothing_and_another_deadline_is_refused(
        self, batch: Path
    ) -> None:
        campaign_of("report-coverage", "--deadline", "2999-12-31")
        campaign_of("report-coverage", "--deadline", "2999-12-31")
        campaign_of("report-coverage")
        with pytest.raises(CommandError, match="exists with other settings"):
            campaign_of("report-coverage", "--deadline", "2998-12-31")

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("option", "value", "said"),
        [
            ("--language", "german!", "is not a tag such as en or pt-BR"),
            ("--gold-every", "1", "from 2 to 999"),
            ("--qualify", "1.5", "qualify is not above 0"),
            ("--practice-of", "nowhere", "'nowhere', which does not exist"),
        ],
    )
    def test_an_invalid_setting_is_refused(
        self, batch: Path, option: str, value: str, said: str
    ) -> None:
        with pytest.raises(CommandError, match=said):
            campaign_of("report-coverage", option, value)
        assert not Campaign.objects.exists()

    def test_an_unreadable_campaign_cannot_be_named(self, study: Study) -> None:
        check_named("practice_of", study.campaign.name, study.rita)
        check_named("practice_of", study.campaign.name, None)
        check_named("practice_of", "", study.ada)
        with pytest.raises(DesignError, match="which does not exist"):
            check_named("practice_of", "nowhere", None)
        for field, message in (
            ("practice_of", "practice names"),
            ("prerequisite", "option prereq"),
        ):
            with pytest.raises(DesignError, match=f"{message}.*which does not exist"):
                check_named(field, study.campaign.name, study.ada)

    def test_an_invalid_setting_in_the_api_names_its_field(self, study: Study) -> None:
        cases: list[tuple[str, Any, str]] = [
            ("revoked", "hidden", "revoked is 'hidden'; give keep or"),
            ("guideline_shown", "never", "guideline shown is 'never'; give "),
            ("pay", "much", "much"),
            ("shares", {"ada": 2.0}, "the share of ada is not above 0"),
            ("shares", {"nobody": 0.5}, "there is no account 'nobody'"),
            ("consent", "a\0b", "NUL character"),
            ("consent", "x" * (LONGEST_CONSENT + 1), "cut it"),
        ]
        for field, value, message in cases:
            with pytest.raises(DesignError, match=message) as refused:
                change(study.campaign, CampaignSettings(**{field: value}))
            assert refused.value.field == field
        change(study.campaign, CampaignSettings(consent="x" * LONGEST_CONSENT))

    def test_each_setting_is_limited_exactly(self) -> None:
        def day(year: int, month: int, day: int) -> datetime:
            return datetime(year, month, day, tzinfo=UTC)

        cases: list[tuple[str, list[Any], list[tuple[Any, str]]]] = [
            ("deadline", [day(2000, 1, 1), day(9998, 12, 31)],
             [(day(year, 6, 1), "not in the years 2000 to 9998") for year in (1999, 9999)]),
            ("language", ["", "de", "gsw", "pt-BR", "zh-Hant-TW"],
             [(tag, f"language '{tag}' is not a tag") for tag in ("d", "germ", "de-", "de AT")]),
            ("text_view", ["source", "rendered"],
             [(view, "give source or rendered") for view in ("", "plain")]),
            ("guideline", ["", "x" * 100_000],
             [("x" * 100_001, "longer than 100000 characters"), ("a\0b", "contains a NUL")]),
            ("gold_every", [0, 2, 999], [(n, "from 2 to 999") for n in (-1, 1, 1000)]),
            ("registered_queries", [0, 1, 2**31 - 1], [(n, "not from 0 to") for n in (-1, 2**31)]),
            ("qualify", [1e-9, 1.0], [(share, "not above 0 and up to 1") for share in (0, 1.001)]),
            ("consent", ["", "x" * LONGEST_CONSENT],
             [("x" * 50_001, "longer than 50000 characters"), ("a\0b", "contains a NUL")]),
            ("revoked", ["keep", "delete"], [("", "give keep or delete")]),
            ("guideline_shown", ["asked", "whole"], [("", "give asked or whole")]),
            ("pay", ["", "0.35 EUR per item"], [("0.35", "write it like 0.35 EUR per item")]),
            ("shares", [{}], [({"ada": 1.1}, "the share of ada is not above 0")]),
            ("practice_of", [""], []),
        ]  # fmt: skip
        for field, allowed, refused in cases:
            for value in allowed:
                check_settings(Campaign(), CampaignSettings(**{field: value}))
            for value, message in refused:
                with pytest.raises(DesignError, match=message) as error:
                    check_settings(Campaign(), CampaignSettings(**{field: value}))
                assert error.value.field == field

    def test_another_campaigns_practice_may_be_required_if_it_has_any(self, study: Study) -> None:
        other = create_campaign("Second", "report-coverage", Batch.objects.get(), Design()).campaign
        cases = [("nowhere", "'nowhere', which does not exist"),
                 ("Pilot", "a campaign's own practice comes first"),
                 ("Second", "'Second' has no practice items")]  # fmt: skip
        for name, message in cases:
            with pytest.raises(DesignError, match=message) as error:
                change(study.campaign, CampaignSettings(practice_of=name))
            assert error.value.field == "practice_of"
        other.items.filter(position=0).update(use=Item.Use.PRACTICE)
        with pytest.raises(DesignError, match="practice names campaign 'Second', which"):
            change(study.campaign, CampaignSettings(practice_of="Second"), user=study.ada)
        assert settings_differ(study.campaign, CampaignSettings(practice_of="Second"))
        change(study.campaign, CampaignSettings(practice_of="Second"))
        assert study.campaign.practice_of == other
        assert not settings_differ(study.campaign, CampaignSettings(practice_of="Second"))
        assert settings_differ(study.campaign, CampaignSettings(practice_of=""))
        change(study.campaign, CampaignSettings(practice_of="Second"), user=study.ada)
        check_practice(study.campaign, CampaignSettings(practice_of="Second"), study.ada)
        change(study.campaign, CampaignSettings(practice_of=""), user=study.ada)
        assert study.campaign.practice_of is None

    def test_people_may_name_readable_campaigns_and_commands_may_name_any(
        self, study: Study
    ) -> None:
        create_campaign("Second", "report-coverage", Batch.objects.get(), Design())
        second = Campaign.objects.get(name="Second")
        ended = {"role": "researcher", "ended_at": timezone.now()}
        second.memberships.create(user=study.rita, **ended)
        readers = (None, study.root, study.rita, study.ada)
        assert [may_read(study.campaign, who) for who in readers] == [True, True, True, False]
        assert [may_read(second, who) for who in readers] == [True, True, False, False]
        check_named("practice_of", "Pilot", study.rita)
        with pytest.raises(DesignError, match="which does not exist"):
            check_named("practice_of", "Second", study.rita)

    def test_a_setting_differs_until_it_is_applied(self, study: Study) -> None:
        assert {*MADE, "practice_of"} == {field.name for field in fields(CampaignSettings)}
        assert CampaignSettings().is_empty
        assert not settings_differ(study.campaign, CampaignSettings())
        for name, (value, stored) in MADE.items():
            with rolling_back():
                assert _made(CampaignSettings(**{name: value}), study.rita) == stored, name

    def test_each_guideline_and_consent_text_is_stored_as_a_version_with_its_author(
        self, study: Study
    ) -> None:
        for text in ("One.", "Two.\r\nLines. ", "Two.\nLines.", ""):
            terms = CampaignSettings(guideline=text, consent=text)
            change(study.campaign, terms, user=study.rita if text else None)
        rows = study.campaign.guidelines.order_by("version")
        assert [(row.version, row.text, row.digest, row.by) for row in rows] == [
            (1, "One.", guideline_digest("One."), study.rita),
            (2, "Two.\nLines.", guideline_digest("Two.\nLines."), study.rita),
            (3, "", "", None),
        ]
        texts = study.campaign.consent_texts.order_by("version")
        assert [(row.version, row.text, row.by) for row in texts] == [
            (1, "One.", study.rita), (2, "Two.\nLines.", study.rita), (3, "", None),
        ]  # fmt: skip
        assert (study.campaign.guideline, study.campaign.consent_version) == ("", 0)
        change(study.campaign, CampaignSettings(consent="Again."))
        assert (study.campaign.consent_version, consent_of(study.campaign)) == (4, "Again.")


@pytest.mark.postgresql
class TestItemOrder:
    def order(self, campaign: Campaign, name: str) -> list[str]:
        got = []
        while (held := next_assignment(campaign, rater(name))) is not None:
            answer_no(held)
            got.append(held.item.key)
        return got

    @pytest.fixture
    def lines(self, db: None, tmp_path: Path) -> str:
        load(
            tmp_path,
            [
                {
                    "id": f"q{n}",
                    "text": "So?",
                    "questions": [{"id": f"q{n}:a", "text": "When?"}],
                    "reports": [{"id": f"r{n}{x}", "text": "So."} for x in "abc"],
                }
                for n in range(6)
            ],
        )
        return "b"

    def test_random_order_differs_by_person_and_is_reproducible(self, lines: str) -> None:
        found = {}
        for name in ("one", "two"):
            options = ("--raters-per-item", "3", "--option", "items=random")
            campaign = campaign_of("report-coverage", *options, name=name)
            found[name] = [self.order(campaign, who) for who in ("ann", "bo", "cy")]
        assert found["one"] == found["two"]
        assert len({tuple(each) for each in found["one"]}) == 3
        assert {tuple(sorted(each)) for each in found["one"]} == {
            tuple(f"r{n}{x}" for n in range(6) for x in "abc")
        }

    def test_blocked_order_keeps_the_items_of_a_query_together(self, lines: str) -> None:
        campaign = campaign_of(
            "report-coverage", "--raters-per-item", "2", "--option", "items=blocked"
        )
        for who in ("ann", "bo"):
            got = self.order(campaign, who)
            blocks = [got[n : n + 3] for n in range(0, 18, 3)]
            assert all(len({key[:2] for key in block}) == 1 for block in blocks)
        assert [block[0][:2] for block in blocks] != [f"r{n}" for n in range(6)]


def answer_no(held: Assignment) -> None:
    units = {name: {"answerable": "no", "evidence": []} for name in held.asked}
    submit(held, {"units": units, "comment": None}, "page")
