"""Judge files in the browser: checked, loaded, tried before there is a judge, and downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, Label, Rater, Response, User, rater_of
from judging import library
from judging.backends.scripted import Scripted
from judging.judges import Definition, draft
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.isolation import one_request
from judging.prompts.template import sha256_of
from judging.servers import GUARDED
from judging.trials import one_item, one_item_jobs
from tests.judging.cast import campaign_of, judge
from tests.judging.judge_file.test_document import GRADED
from tests.once import once
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db

FORM = {
    "name": "graded",
    "backend": "openai",
    "granularity": "item",
    "server": "new",
    "base_url": "https://models.example.org",
    "model": "m",
    "prompt_from": "file",
    "file": GRADED.replace("\n", "\r\n"),
}
TOO_SHORT = f"Line {GRADED[: GRADED.index('= 256')].count(chr(10)) + 1}: Param max_tokens is '0'"
HTMX = {"hx-request": "true"}


@pytest.fixture
def rita(db: None) -> Client:
    cache.clear()
    return client_of(User.objects.create(username="rita", role="researcher"))


@once
def study(folder: Path) -> Campaign:
    return campaign_of(folder, "grounding-relevance")


def create(client: Client, **changes: Any) -> Any:
    return client.post(reverse("judge-new"), FORM | changes)


def check(client: Client, text: str, **changes: Any) -> str:
    sent = {"prompt_from": "file", "file": text, "granularity": "item"} | changes
    return str(client.post(reverse("judge-file-check"), sent).content.decode())


def attempt(client: Client, campaign: Campaign, status: int | None = None, **changes: Any) -> str:
    sent = FORM | {"name": "", "campaign": campaign.pk, "item": 1} | changes
    answer = client.post(reverse("judge-new-try"), sent, headers={} if status else HTMX)
    assert answer.status_code == (status or 200)
    return str(answer.content.decode())


def wrong(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422
    return {name: " ".join(messages) for name, messages in answer.context["form"].errors.items()}


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Any:
    def say(*completions: str) -> None:
        backend = Scripted(list(completions))
        monkeypatch.setattr(one_item, "build_backend", lambda judge: backend)

    return say


class TestCreating:
    def test_a_judge_is_created_from_a_file(self, rita: Client) -> None:
        answer = create(rita, max_tokens="99")
        made = Judge.objects.get()
        assert answer.headers["Location"] == reverse("judge", args=[made.pk])
        assert (made.file, made.file_sha256) == (GRADED, sha256_of(GRADED))
        assert (made.prompt, made.granularity) == ("", "unit")
        assert made.params == {
            "temperature": 0.0, "max_tokens": 99, "extra_body": {"top_k": 1},
            "omit": ["response_format"], GUARDED: 1,
        }  # fmt: skip

    def test_only_the_text_of_the_chosen_source_is_stored(self, rita: Client) -> None:
        create(rita, prompt_from="protocol", prompt="no slots")
        made = Judge.objects.get()
        assert (made.file, made.prompt) == ("", "")

    @pytest.mark.first_case
    @pytest.mark.parametrize(
        ("changes", "field", "words"),
        [
            ({"file": " "}, "file", "Paste a judge file"),
            ({"prompt_from": "own"}, "prompt", "Write a prompt"),
            (
                {"file": GRADED.replace("title =", "titel =")},
                "file",
                "Line 2: 'titel' is not a key",
            ),
            (
                {"file": GRADED.replace("= 256", "= 0")},
                "file",
                TOO_SHORT,
            ),
            ({"isolate": "item"}, "isolate", "The judge file sets this itself"),
        ],
    )
    def test_an_error_is_shown_at_its_field(
        self, rita: Client, changes: dict[str, str], field: str, words: str
    ) -> None:
        answer = create(rita, **changes)
        assert words in wrong(answer)[field]
        assert f'id="id_{field}_error"' in answer.content.decode()
        assert not Judge.objects.exists()

    def test_samples_may_rely_on_the_temperature_of_the_file(self, rita: Client) -> None:
        create(rita, samples="3", file=GRADED.replace("temperature = 0", "temperature = 0.7"))
        assert Judge.objects.get().params["samples"] == 3

    def test_a_judge_like_another_begins_with_its_file(self, rita: Client) -> None:
        create(rita, max_tokens="99")
        page = rita.get(reverse("judge-new"), {"like": Judge.objects.get().pk})
        initial = page.context["form"].initial
        assert (initial["prompt_from"], initial["file"]) == ("file", GRADED)
        assert initial["max_tokens"] == 99
        assert "temperature" not in initial

    def test_the_form_can_begin_with_a_file_of_the_library(self, rita: Client) -> None:
        page = rita.get(reverse("judge-new"), {"library": "graded-relevance"})
        assert page.context["form"].initial["file"] == library.text_of("graded-relevance")
        assert "All 26 fixtures are read as expected" in page.content.decode()


class TestChecking:
    def test_an_empty_judge_file_says_what_to_do(self, rita: Client) -> None:
        assert "The field is empty" in check(rita, " \r\n")
        assert "The field is empty" not in check(rita, "", prompt_from="own")

    def test_an_error_names_its_line_and_shows_it(self, rita: Client) -> None:
        page = check(rita, GRADED.replace("title =", "titel ="))
        assert "<b>Line 2.</b> &#x27;titel&#x27; is not a key" in page
        assert 'class="here"><i>2</i>titel = ' in page
        assert 'data-line="2"' in page

    def test_fixtures_are_listed_with_their_reading_and_its_step(self, rita: Client) -> None:
        fenced = GRADED.replace('"… final score: 2"', '"""```\nfinal score: 2\n```"""')
        page = check(rita, fenced)
        assert "All 2 fixtures are read as expected" in page
        assert "relevant <b>yes</b>" in page
        assert '<td data-label="Step">fence</td>' in page
        assert '<span class="pill">refused</span>' in page

    def test_a_fixture_with_another_reading_than_expected_is_reported(self, rita: Client) -> None:
        page = check(rita, GRADED.replace('relevant = "yes" }', 'relevant = "no" }'))
        assert "1 of 2 fixtures" in page
        assert "is read as relevant = yes and not as relevant = no" in page
        assert 'data-line="35"' in page

    def test_a_valid_judge_file_is_described(self, rita: Client) -> None:
        page = check(rita, library.text_of("graded-relevance"))
        for words in (
            "UMBRELA", "more lenient than assessors", '<span class="id">regex</span>: relevant',
            "asks about one unit", "isolate = unit", "max_tokens <b>512</b>",
        ):  # fmt: skip
            assert words in page

    def test_a_new_file_that_could_overlook_a_verdict_is_refused(self, rita: Client) -> None:
        lenient = GRADED.replace('marker = "final score:"\n', "")
        assert "needs the words that announce a verdict" in check(rita, lenient)
        refused = create(rita, file=lenient)
        assert "needs the words that announce a verdict" in wrong(refused)["file"]
        assert not Judge.objects.exists()

    def test_only_campaigns_of_the_protocol_of_the_file_are_offered(
        self, rita: Client, study: Campaign, tmp_path: Path
    ) -> None:
        other = campaign_of(tmp_path, "answer-preference")
        page = check(rita, GRADED)
        assert study.name in page
        assert other.name not in page
        assert other.name in check(rita, "")

    def test_a_hostile_text_is_harmless(self, rita: Client) -> None:
        page = check(rita, "<script>alert(1)</script>\u202e\x1b = 1")
        assert "<script>" not in page
        assert "\u202e" not in page


class TestLoading:
    def load(self, client: Client, **sent: Any) -> str:
        return str(client.post(reverse("judge-file-load"), sent).content.decode())

    def test_a_file_of_the_library_is_loaded_into_the_field(self, rita: Client) -> None:
        page = self.load(rita, library="nugget-assignment")
        assert "{{ key_points | numbered }}" in page
        assert "All 26 fixtures are read as expected" in page

    def test_an_uploaded_file_is_loaded_into_the_field(self, rita: Client) -> None:
        upload = SimpleUploadedFile("j.toml", b"\xef\xbb\xbf" + GRADED.encode())
        page = self.load(rita, upload=upload)
        assert "four levels" in page
        assert "All 2 fixtures" in page

    def test_a_file_that_cannot_be_loaded_leaves_the_text_unchanged(self, rita: Client) -> None:
        for sent, words in (
            ({"upload": SimpleUploadedFile("j.toml", b"\xff\xfe")}, "is not UTF-8"),
            ({"library": "../../etc/passwd"}, "Choose a file of the library"),
        ):
            page = self.load(rita, file="what I typed", **sent)
            assert words in page
            assert "what I typed" in page


class TestTrying:
    def test_a_judge_is_tried_before_it_is_created_and_nothing_is_stored(
        self, rita: Client, study: Campaign, says: Any
    ) -> None:
        says("```\nThe passage names the year.\nFinal score: 3\n```")
        raters = Rater.objects.count()
        page = attempt(rita, study)
        assert "Passage: The bridge opened in 1901." in page
        assert "relevant <b>yes</b>" in page
        assert "read after: fence" in page
        assert "Final score: 3" in page
        for model in (Judge, Assignment, Response, Label, JudgeRun, JudgeCall):
            assert not model.objects.exists()
        assert Rater.objects.count() == raters

    def test_the_result_says_why_the_file_cannot_read_an_answer(
        self, rita: Client, study: Campaign, says: Any
    ) -> None:
        says("I cannot assess this.")
        assert "<b>refused</b>" in attempt(rita, study)

    def test_a_judge_with_the_prompt_of_its_protocol_can_be_tried_too(
        self, rita: Client, campaign: Campaign
    ) -> None:
        page = attempt(rita, campaign, backend="lexical", prompt_from="protocol")
        assert "answerable <b>" in page

    def test_errors_of_the_form_are_listed_and_nothing_is_sent(
        self, rita: Client, study: Campaign
    ) -> None:
        page = attempt(rita, study, model="", file=GRADED.replace("title =", "titel ="))
        assert "Nothing was sent" in page
        assert "Model: Enter the model" in page
        assert "Judge file: Line 2" in page
        assert "Nothing was sent" in attempt(rita, study, 422, model="")

    def test_a_file_about_another_protocol_is_refused(
        self, rita: Client, campaign: Campaign
    ) -> None:
        page = attempt(rita, campaign)
        assert "is from a file about grounding-relevance" in page

    def test_tries_of_drafts_and_saved_judges_share_the_limit_of_an_account(
        self, rita: Client, study: Campaign, says: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(one_item_jobs, "TRIES", 1)
        says("final score: 0", "final score: 0")
        rita.post(reverse("judge-try", args=[judge().pk]), {"campaign": study.pk, "item": 1})
        assert "wait a moment" in attempt(rita, study)

    def test_a_draft_is_tried_only_on_development_queries(
        self, rita: Client, says: Any, tmp_path: Path
    ) -> None:
        says("final score: 0", "final score: 0")
        study = campaign_of(tmp_path, "grounding-relevance", development=0.5)
        tuned = study.query_samplings.get(role="development").query_id
        for item in study.items.all():
            page = attempt(rita, study, item=item.position + 1)
            assert ("relevant <b>no</b>" in page) == (item.query_id == tuned)
            assert ("prompts must not be tuned on" in page) == (item.query_id != tuned)
        assert next_assignment(study, rater_of(User.objects.get(username="rita")))
        assert "You have an open item in this campaign" in attempt(rita, study, item="")

    def test_a_private_address_is_refused(self, rita: Client, study: Campaign) -> None:
        page = attempt(rita, study, base_url="http://127.0.0.1:8000")
        assert "not a public address" in page


class TestThePageOfAJudge:
    def test_the_page_shows_the_file_and_offers_it_for_download(self, rita: Client) -> None:
        create(rita)
        made = Judge.objects.get()
        page = rita.get(reverse("judge", args=[made.pk])).content.decode()
        for words in ("a paper", made.file_sha256[:12], "four levels", "asks about one unit"):
            assert words in page
        answer = rita.get(reverse("judge-file", args=[made.pk]))
        assert answer.content.decode() == GRADED
        assert answer["Content-Type"].startswith("application/toml")
        assert rita.get(reverse("judge-file", args=[judge("plain").pk])).status_code == 404

    def test_the_page_warns_of_a_file_that_could_overlook_a_verdict(self, rita: Client) -> None:
        made = judge("old", "openai", model="m", file=GRADED)
        address = reverse("judge", args=[made.pk])
        assert "may be read wrong" not in rita.get(address).content.decode()
        lenient = GRADED.replace('marker = "final score:"\n', "")
        Judge.objects.filter(pk=made.pk).update(file=lenient)
        assert "may be read wrong" in rita.get(address).content.decode()
        published = lenient.replace("[answer]", "[answer]\nas_published = true")
        Judge.objects.filter(pk=made.pk).update(file=published)
        page = rita.get(address).content.decode()
        assert "may be read wrong" not in page
        assert "as its authors published it" in page

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("granularity", "isolate", "asks", "narrower"),
        [
            ("item", "", "all units of an item; of one answer, if rated", ""),
            ("item", "item", "all units of an item", ""),
            ("item", "response", "the units of one answer", "isolation (response) is narrower"),
            ("item", "unit", "one unit", "isolation (unit) asks unit by unit"),
            ("unit", "item", "one unit", "granularity (unit) is narrower"),
            ("unit", "response", "one unit", "granularity (unit) is narrower"),
            ("unit", "", "one unit", ""),
        ],
    )
    def test_the_narrower_of_granularity_and_isolation_applies(
        self, granularity: str, isolate: str, asks: str, narrower: str
    ) -> None:
        params = {"isolate": isolate} if isolate else {}
        found = one_request(
            draft(Definition("j", "lexical", granularity=granularity, params=params))
        )
        assert found.asks == asks
        assert narrower in found.narrower
        assert bool(narrower) == bool(found.narrower)

    def test_a_parser_of_one_verdict_asks_unit_by_unit(self) -> None:
        file = GRADED.replace('isolate = "unit"', 'isolate = "item"')
        found = one_request(draft(Definition("j", "openai", "m", file=file)))
        assert "parser (regex) reads one answer" in found.narrower
        assert found.shows == "everything that people see on one page"
