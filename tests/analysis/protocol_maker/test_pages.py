"""The pages of teams' protocols: what is shown beside a draft, what is stored, and for whom."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.protocol_maker.forms import START
from analysis.protocol_maker.views import LONGEST_FORM, MOST_COUNTED
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Item, ProtocolFile, Rater
from annotation.protocol_files import store
from datasets.models import Job, Query, Report
from tandem.protocols.file_structure import write_protocol
from tandem.protocols.protocol_file import read_protocol
from tests.page_cast import Study, client_of, make_study
from tests.team_cast import join_team, move_to_own_team, share_with

pytestmark = pytest.mark.django_db
NEW, FITS = "/protocols/new/", "/protocols/new/fits/"
FILE = write_protocol(START)
IN_PLACE = {"HX-Request": "true"}


@pytest.fixture
def study() -> Study:
    study = make_study()
    join_team(study.rita, study.campaign.team, "owner")
    return study


@pytest.fixture
def rita(study: Study) -> Client:
    return client_of(study.rita)


def kept(study: Study, text: str = FILE) -> ProtocolFile:
    return store(read_protocol(text, "own.toml"), study.campaign.team, study.rita)


def shown(client: Client, text: str = FILE, **more: Any) -> str:
    """Return the part of the page that is shown beside a file."""
    sent = {"mode": "file", "text": text, **more}
    answer = client.post(NEW, sent, headers=IN_PLACE)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def frame(page: str) -> str:
    return html.unescape(page.partition('srcdoc="')[2].partition('"')[0])


def test_the_annotators_page_of_a_real_item_stands_beside_a_draft(rita: Client) -> None:
    page = shown(rita)
    assert "Item 1 of 2 of query 1 of 1" in page
    inside = frame(page)
    assert "What of the harbour?" in inside
    assert "Does the report help the person who asked?" in inside
    assert 'value="partly"' in inside
    assert "hidden-system" not in page
    assert "Report 1. The pier held." in frame(shown(rita, item="2"))


def test_what_follows_is_said_below(rita: Client) -> None:
    page = shown(rita)
    assert "Krippendorff&#x27;s alpha, ordinal" in page
    assert "Does the report help the person who asked?" in page.partition("prompt-head")[2]
    said = rita.post(FITS, {"mode": "file", "text": FILE}).content.decode()
    assert "It fits &#x27;harbour&#x27;: 2 units of 2 reports." in said


def test_nothing_is_stored_before_it_is_added(rita: Client) -> None:
    models = (Campaign, Item, Assignment, Rater, ProtocolFile, Job)
    before = [model.objects.count() for model in models]
    shown(rita)
    rita.post(FITS, {"mode": "file", "text": FILE})
    assert [model.objects.count() for model in models] == before


def test_a_huge_batch_costs_no_more_queries(rita: Client, study: Study) -> None:
    shown(rita)
    with CaptureQueriesContext(connection) as small:
        shown(rita)
    batch = study.campaign.batch
    made = [Query(batch=batch, key=f"q{n}", position=n, text="So?") for n in range(1, 900)]
    Query.objects.bulk_create(made)
    Report.objects.bulk_create(
        Report(batch=batch, query=query, key=f"r{query.key}", position=0, text="So.", system="s")
        for query in made
    )
    batch.counts = {"queries": 900, "reports": 901}
    batch.save()
    with CaptureQueriesContext(connection) as large:
        assert "of query 900 of 900" in shown(rita, query="5000")
    assert len(large) <= len(small)
    said = rita.post(FITS, {"mode": "file", "text": FILE}).content.decode()
    assert f"in its first {MOST_COUNTED} queries" in said


def test_an_error_stands_at_its_line_and_nothing_else_is_shown(rita: Client) -> None:
    page = shown(rita, FILE.replace('"ordinal"', '"ordinl"'))
    line = FILE.split("\n").index('level = "ordinal"') + 1
    assert f'data-line="{line}"' in page
    assert "did you mean ordinal?" in page
    assert "<iframe" not in page


def test_an_error_of_the_form_stands_at_its_field(rita: Client) -> None:
    page = rita.get(NEW).content.decode()
    assert 'name="mode" value="form"' in page
    sent = {"mode": "form", "name": "Two words", "q-TOTAL_FORMS": "1", "q-INITIAL_FORMS": "0"}
    answer = rita.post(NEW, sent, headers=IN_PLACE).content.decode()
    assert re.search(r'id="id_name_error" hx-swap-oob="true">Name is &#x27;Two words&#x27;', answer)
    assert re.search(r'id="id_q-0-question_error" hx-swap-oob="true">\w', answer)


def test_questions_are_added_and_removed(rita: Client) -> None:
    sent = {"mode": "form", "q-TOTAL_FORMS": "2", "q-INITIAL_FORMS": "0"}
    sent |= {"q-0-question": "First?", "q-1-question": "Second?"}
    more = rita.post(NEW, {**sent, "order": "add-question"}).content.decode()
    assert 'name="q-2-question"' in more
    less = rita.post(NEW, {**sent, "order": "remove-1"}).content.decode()
    assert 'name="q-0-question" value="Second?"' in less
    assert 'name="q-1-question"' not in less


def test_a_form_becomes_a_file_and_a_file_with_more_stays_one(rita: Client) -> None:
    sent = {"mode": "file", "text": FILE, "order": "to-form"}
    assert 'name="title" value="Helpfulness"' in rita.post(NEW, sent).content.decode()
    german = FILE + '\n[german]\n"Helpfulness" = "Nutzen"\n'
    stays = rita.post(NEW, {**sent, "text": german}).content.decode()
    assert "The file has more than the form: german. It stays a file" in stays
    assert "&quot;Nutzen&quot;" in stays


def test_a_protocol_is_added_for_the_team(rita: Client, study: Study) -> None:
    added = rita.post(NEW, {"mode": "file", "text": FILE, "order": "store"})
    file = ProtocolFile.objects.get()
    assert added["Location"] == reverse("protocol", args=[file.uid])
    assert (file.team, file.made_by) == (study.campaign.team, study.rita)
    page = rita.get(added["Location"]).content.decode()
    for words in ("helpfulness@1", "Krippendorff", "cannot-tell", "Read the request first"):
        assert words in page
    assert rita.get(f"{added['Location']}file.toml").content.decode() == FILE


def test_a_used_version_is_refused_with_the_mend(rita: Client, study: Study) -> None:
    file = kept(study)
    create_campaign("Own", "helpfulness", study.campaign.batch, Design(), pool="open")
    changed = FILE.replace("person who asked", "one who asked")
    refused = rita.post(NEW, {"mode": "file", "text": changed, "order": "store"})
    assert refused.status_code == 422
    assert "give it a new version" in refused.content.decode()
    delete = rita.post(reverse("protocol-delete", args=[file.uid]))
    assert delete.status_code == 422
    settings = rita.get(
        reverse("campaign-settings", args=[Campaign.objects.get(name="Own").pk])
    ).content.decode()
    assert "helpfulness@1" in settings
    assert reverse("protocol", args=[file.uid]) in settings


def test_a_body_over_the_limit_is_refused_before_it_is_read(rita: Client) -> None:
    for address in (NEW, FITS):
        assert rita.post(address, {"text": "x" * (LONGEST_FORM + 1)}).status_code == 413


def test_an_uploaded_file_is_put_into_the_field(rita: Client) -> None:
    sent = {"mode": "file", "text": "", "order": "load"}
    loaded = rita.post(NEW, {**sent, "upload": SimpleUploadedFile("own.toml", FILE.encode())})
    assert "name = &quot;helpfulness&quot;" in loaded.content.decode()
    odd = rita.post(NEW, {**sent, "upload": SimpleUploadedFile("own.toml", b"\xff")})
    assert "is not UTF-8" in odd.content.decode()


def test_a_campaign_is_created_with_the_protocol_of_its_team(rita: Client, study: Study) -> None:
    kept(study)
    assert "protocol=helpfulness%401" in rita.get("/campaigns/new/").content.decode()
    sent = {"protocol": "helpfulness@1", "batch": "harbour"}
    form = rita.get("/campaigns/new/", sent).content.decode()
    assert 'name="protocol" value="helpfulness@1"' in form
    look = {**sent, "protocol_file": ProtocolFile.objects.get().uid, "guideline": "# Other"}
    seen = rita.post(reverse("guideline-look"), look).content.decode()
    assert "Read the request first" in seen
    least = {"name": "Own", "raters_per_item": "2", "overlap": "1", "human_share": "1"}
    least |= {"seed": "0", "pool": "open", "items": "fixed"}
    made = rita.post("/campaigns/new/", {**sent, **least})
    assert made.status_code == 302, re.findall(r'class="error"[^<]*<?', made.content.decode())
    campaign = Campaign.objects.get(name="Own")
    assert campaign.protocol_file == ProtocolFile.objects.get()


def test_two_teams_have_one_name_each_and_never_see_the_others(rita: Client, study: Study) -> None:
    mine = kept(study)
    team = move_to_own_team(study.ben, name="others")
    other = store(read_protocol(FILE.replace("Helpfulness", "Theirs"), "own.toml"), team)
    listed = rita.get("/protocols/").content.decode()
    assert str(mine.uid) in listed
    assert "Theirs" not in listed + rita.get("/campaigns/new/").content.decode()
    for name in ("protocol", "protocol-file"):
        assert rita.get(reverse(name, args=[other.uid])).status_code == 404
    assert rita.get(NEW, {"from": str(other.uid)}).status_code == 404
    look = {"protocol": "helpfulness", "protocol_file": other.uid, "guideline": "x"}
    assert b"Theirs" not in rita.post(reverse("guideline-look"), look).content


def test_a_batch_shared_with_another_team_shows_only_ones_own_protocols(study: Study) -> None:
    """A batch of the main team is read by another team, which must not learn of its protocols."""
    kept(study, FILE.replace("Helpfulness", "Secret"))
    study.ada.role = "researcher"
    study.ada.save()
    share_with(study.campaign.batch, move_to_own_team(study.ada))
    page = client_of(study.ada).get("/campaigns/new/", {"batch": "harbour"}).content.decode()
    assert "Report coverage" in page
    assert "Secret" not in page


def test_a_site_without_batches_says_what_to_do(rita: Client, study: Study) -> None:
    study.ben.role = "researcher"
    study.ben.save()
    move_to_own_team(study.ben)
    page = client_of(study.ben).get(NEW).content.decode()
    assert "There is no batch yet" in page
    assert "<iframe" not in page
