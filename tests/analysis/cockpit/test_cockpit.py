"""A campaign's first page shows four steps and tiles, and exposes nobody's answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.attention import facts_of
from analysis.cockpit.campaign_list import rows_of
from analysis.cockpit.search import PAGES, Page, search
from analysis.cockpit.tiles import tiles_of
from analysis.models import Study as Applied
from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Campaign, Look, Rater, User
from datasets.models import Job, JobAsker
from judging.models import Judge, JudgeRun
from tests.cast import run
from tests.page_cast import Study, client_of, make_study, payload, plant

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
Headers = Mapping[str, str]


def page(campaign: Campaign, user: User | None = None, headers: Headers | None = None) -> str:
    user = user or User.objects.get_or_create(username="reader", role="researcher")[0]
    answer = client_of(user).get(f"/campaigns/{campaign.pk}/", headers=dict(headers or {}))
    assert answer.status_code == 200
    return answer.content.decode()


class TestSmallCampaign:
    @pytest.fixture
    def study(self) -> Study:
        return make_study()

    def test_a_new_campaign_shows_four_steps(self, study: Study) -> None:
        shown = page(study.campaign)
        for step in ("Data", "People", "Judge", "Results"):
            assert f"<h2>{step}</h2>" in shown
        assert "4 answers are asked for" in shown
        assert "Not computed yet" not in shown

    def test_the_page_computes_nothing_until_htmx_requests_the_figures(self, study: Study) -> None:
        plant(study)
        page(study.campaign)
        assert not Job.objects.exists()
        assert "1 of 4" in page(study.campaign, headers=HTMX)
        assert set(Job.objects.values_list("kind", "state")) == {
            ("report", "done"),
            ("checks", "done"),
        }

    def test_a_judge_that_has_begun_is_not_listed_as_never_run(self, study: Study) -> None:
        assert "No judge has run" in page(study.campaign)
        run("create_judge", "words", "--backend", "lexical")
        JudgeRun.objects.create(campaign=study.campaign, judge=Judge.objects.get())
        shown = page(study.campaign)
        assert "No judge has run" not in shown
        assert "A judge’s run was started. It has given no answer yet." in shown

    def test_a_judge_whose_answers_are_all_missing_is_said_to_have_run(self, study: Study) -> None:
        found = replace(facts_of([study.campaign.pk])[0], failed={"words": 25})
        assert tiles_of(found, False).missing.judge == (
            "A judge has run, but all 25 answers are missing."
        )

    def test_a_judge_without_peoples_labels_is_said_to_wait_for_them(self, study: Study) -> None:
        (found,) = facts_of([study.campaign.pk])
        found.campaign.judges = 1  # type: ignore[attr-defined]
        assert tiles_of(found, False).missing.judge.endswith("once people have answered.")

    def test_tiles_say_that_their_figures_are_being_computed(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for user in (study.ada, study.ben):
            submit(study.assignment(user), payload("no"), "page")
        (found,) = facts_of([study.campaign.pk])
        assert tiles_of(found, False).missing.people.startswith("3 shared questions so far.")
        monkeypatch.setattr("analysis.cockpit.missing.FEWEST_UNITS", 3)
        assert tiles_of(found, False).missing.people == "Not computed yet."
        assert tiles_of(found, False, is_computing=True).missing.people == "Being computed …"

    def test_figures_over_few_units_are_withheld(self, study: Study) -> None:
        plant(study)
        submit(study.assignment(study.ada), payload("no"), "page")
        shown = page(study.campaign, study.rita, HTMX)
        assert "3 shared questions so far" in shown
        assert "κ" not in shown
        assert not Look.objects.exists()

    def test_a_reader_with_an_open_item_sees_no_figure(self, study: Study) -> None:
        plant(study)
        study.assignment(study.rita)
        shown = page(study.campaign, study.rita, HTMX)
        assert "Hidden until your open item is answered" in shown
        assert not Job.objects.exists()

    def test_a_campaign_that_needs_nothing_is_listed_below_one_with_a_hint(
        self, study: Study
    ) -> None:
        create_campaign("Bare", "report-coverage", study.campaign.batch, Design(), pool="open")
        for user in (study.ada, study.ben) * 2:
            submit(study.assignment(user), payload("no"), "page")
        rows = rows_of(study.rita, [each.pk for each in Campaign.objects.all()])
        assert [(row.campaign.name, len(row.needs)) for row in rows] == [("Pilot", 1), ("Bare", 0)]

    def test_all_tabs_are_shown_from_the_start(self, study: Study) -> None:
        shown = page(study.campaign)
        for tab in ("Overview", "Results", "Disagreements", "Data", "People", "Judges", "Settings"):
            assert f">{tab}</a>" in shown or f">{tab} <" in shown

    def test_the_data_tab_lists_items_and_an_item_shows_everybodys_labels(
        self, study: Study
    ) -> None:
        plant(study)
        rita = client_of(study.rita)
        listed = rita.get(f"/campaigns/{study.campaign.pk}/data/").content.decode()
        assert "1 of 2" in listed
        assert "3 of 3" in listed, "the judge is like the only person on all three units"
        missing = rita.get(f"/campaigns/{study.campaign.pk}/data/?show=done").content.decode()
        assert "No item matches" in missing
        item = rita.get(f"/campaigns/{study.campaign.pk}/data/0/").content.decode()
        assert "planted-judge" in item
        assert item.count('<td data-label="planted-judge">No</td>') == 3
        assert {look.kind for look in Look.objects.all()} == {"items"}
        study.assignment(study.rita)
        assert rita.get(f"/campaigns/{study.campaign.pk}/data/").status_code == 403

    def test_a_judge_can_be_chosen_and_started_from_the_campaign(self, study: Study) -> None:
        rita = client_of(study.rita)
        address = f"/campaigns/{study.campaign.pk}/judges/start/"
        assert "There is none yet" in rita.get(address).content.decode()
        run("create_judge", "words", "--backend", "lexical")
        shown = rita.get(address).content.decode()
        assert "<option" in shown
        assert "Start the run" in shown
        assert '<a href="/campaigns/" aria-current="page">' in shown

    def test_a_judge_that_has_not_started_is_preselected_over_a_finished_one(
        self, study: Study
    ) -> None:
        rita, address = client_of(study.rita), f"/campaigns/{study.campaign.pk}/judges/start/"
        run("create_judge", "words", "--backend", "lexical")
        run("run_judge", "--judge", "words", "--campaign", study.campaign.name)
        done = rita.get(address, {"judge": Judge.objects.get().pk}).content.decode()
        assert "Nothing will be asked" in done
        assert "Read its answers" in done
        assert "Define another judge" in done
        run("create_judge", "others", "--backend", "lexical", "--family", "f")
        other = Judge.objects.get(rater__name="others")
        assert f'<option value="{other.pk}" selected>' in rita.get(address).content.decode()


class TestFigures:
    def test_tiles_show_the_figures_of_the_report(self, crux: Campaign, db: None) -> None:
        campaign = Campaign.objects.get(pk=crux.pk)
        shown = page(campaign, headers=HTMX)
        assert "90 of 90" in shown
        # Imported answers that are all that was asked for have the slots.
        assert not campaign.items.exclude(taken=F("quota"))
        assert "κ 0.52" in shown
        assert "Moderately" in shown
        assert "oracle" in shown
        results = f"/campaigns/{campaign.pk}/results/"
        assert f'<a href="{results}#section-people">Each pair</a>' in shown
        assert Look.objects.filter(kind="overview", exposing=False).count() == 1
        assert not Look.objects.filter(exposing=True).exists()
        with CaptureQueriesContext(connection) as captured:
            again = page(campaign)
        assert "κ 0.52" in again
        assert len(captured) < 60, len(captured)

    def test_the_list_shows_how_well_people_agree(self, crux: Campaign, db: None) -> None:
        rita = User.objects.create(username="rita", role="researcher")
        assert "not computed yet" in client_of(rita).get("/campaigns/").text
        page(crux, rita, HTMX)
        row = client_of(rita).get("/campaigns/").text.partition("<tbody")[2]
        assert "κ 0.52" in row
        assert "Moderately" in row
        assert "answers from people are in" not in row, "a hint is no work for anybody"
        assert not Look.objects.filter(exposing=True).exists()

    def test_a_reader_with_an_open_item_sees_no_agreement_in_the_list(
        self, crux: Campaign, db: None
    ) -> None:
        rita = User.objects.create(username="rita", role="researcher")
        page(crux, rita, HTMX)
        (row,) = rows_of(rita, [crux.pk])
        assert row.tiles.people is not None
        assert replace(row, is_blind=True).tiles.people is None

    def test_items_are_sorted_by_the_share_of_units_on_which_people_agree(
        self, crux: Campaign, db: None
    ) -> None:
        rita = client_of(User.objects.create(username="rita", role="researcher"))

        def shares(query: str) -> list[float]:
            shown = rita.get(f"/campaigns/{crux.pk}/data/{query}").text
            cells = re.findall(r'data-label="People alike" class="number">(\d+) of (\d+)', shown)
            return [int(alike) / int(shared) for alike, shared in cells]

        assert shares("") != sorted(shares(""))
        assert shares("?sort=alike") == sorted(shares("?sort=alike"))
        assert shares("?sort=-alike")[0] > shares("?sort=alike")[0]
        head = rita.get(f"/campaigns/{crux.pk}/data/?sort=alike").text
        assert 'aria-sort="ascending"><a href="?sort=-alike">' in head, "and turns round"

    def test_units_of_an_item_with_different_answers_are_marked(
        self, crux: Campaign, db: None
    ) -> None:
        rita = client_of(User.objects.create(username="rita", role="researcher"))
        shown = rita.get(f"/campaigns/{crux.pk}/data/0/").content.decode()
        differing = shown.count('<tr class="differs">')
        assert 0 < differing < shown.count('<th scope="row">')
        assert shown.count("(answers differ)") == differing


class TestHome:
    @pytest.fixture
    def study(self) -> Study:
        return make_study()

    def listed(self, study: Study, query: str = "") -> str:
        return client_of(study.rita).get(f"/campaigns/{query}").content.decode()

    def test_campaigns_that_need_attention_come_first(self, study: Study) -> None:
        create_campaign(
            "A calm one", "report-coverage", study.campaign.batch, Design(), pool="open"
        )
        Campaign.objects.filter(pk=study.campaign.pk).update(pool="named")
        shown = self.listed(study)
        assert shown.index("Pilot") < shown.index("A calm one")
        assert "Only members may answer, and nobody is a member." in shown

    def test_campaigns_can_be_filtered_by_words_and_state(self, study: Study) -> None:
        made = create_campaign(
            "Quay", "report-coverage", study.campaign.batch, Design(), pool="open"
        )
        Campaign.objects.filter(pk=made.campaign.pk).update(is_open=False)
        assert "Quay" not in self.listed(study)
        assert "Quay" in self.listed(study, "?state=closed")
        client_of(study.rita).post(f"/campaigns/{made.campaign.pk}/turn/", {"to": "archived"})
        assert "Quay" not in self.listed(study, "?state=closed")
        assert "Quay" in self.listed(study, "?state=archived")
        assert "Pilot" in self.listed(study, "?find=pil+harbour")
        assert "No campaign matches" in self.listed(study, "?find=nothing")

    def test_the_search_finds_only_objects_that_the_account_may_read(self, study: Study) -> None:
        plant(study)
        run("create_judge", "words", "--backend", "lexical")
        rater = Rater.objects.get(user=study.ben)

        def found(text: str, user: User = study.rita) -> str:
            return client_of(user).get("/search/", {"q": text}).content.decode()

        assert f'<a href="/campaigns/{study.campaign.pk}/">' in found("pilot")
        assert "/queries/0/" in found("harbour what")
        assert "words" in found("lexic wor") or "words" in found("words")
        assert f"/raters/{rater.pk}/" in found(rater.name[:10])
        assert "ben" not in found("ben").partition("<main")[2].replace('value="ben"', "")
        assert f"/people/{study.ben.pk}/" in found("ben", study.root)
        assert "Nothing has all of these words" in found("pilot zebra")

    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("doctor", "/doctor/"),
            ("health", "/doctor/"),
            ("new campaign", "/campaigns/new/"),
            ("upload", "/batches/upload/"),
            ("settings pilot", "/campaigns/{pk}/settings/"),
            ("guideline", "/campaigns/{pk}/settings/#id_guideline"),
            ("Judges", "/judges/"),
            ("judges pil", "/campaigns/{pk}/judges/"),
        ],
    )
    def test_the_search_finds_pages_by_their_names_and_other_words(
        self, study: Study, text: str, address: str
    ) -> None:
        shown = client_of(study.root).get("/search/", {"q": text}).text.partition("<main")[2]
        assert f'<a href="{address.format(pk=study.campaign.pk)}">' in shown

    @pytest.mark.parametrize("page", [page for page in PAGES if page.route != "teams"])
    def test_each_page_that_the_search_names_opens_for_its_roles_only(
        self, study: Study, page: Page
    ) -> None:
        for user in (study.rita, study.root):
            opened = client_of(user).get(reverse(page.route)).status_code
            assert (opened == 200) == (user.role in page.roles), user.role
            hits = [each.address for each in search(user, page.name).get("Pages", ())]
            assert (reverse(page.route) in hits) == (user.role in page.roles)

    def test_pages_that_change_a_campaign_are_found_by_those_who_may(self, study: Study) -> None:
        nora = User.objects.create(username="nora", role="researcher")
        study.campaign.memberships.create(user=nora, role="annotator")
        import_page = f"/campaigns/{study.campaign.pk}/import/"
        assert import_page in client_of(study.rita).get("/search/", {"q": "import labels"}).text
        assert import_page not in client_of(nora).get("/search/", {"q": "import labels"}).text

    def test_readers_of_single_campaigns_find_these_and_not_the_study(self, study: Study) -> None:
        def found(of: User) -> str:
            return client_of(of).get("/search/", {"q": "harbours"}).content.decode()

        whole = Applied.objects.create(name="Harbours", sha256="0" * 64)
        whole.parts.create(kind="campaign", name="c", campaign=study.campaign)
        assert f'<a href="/studies/{whole.pk}/">' in found(study.rita)
        assert f'<a href="/campaigns/{study.campaign.pk}/">' in found(study.rita)
        other = create_campaign(
            "Quay", "report-coverage", study.campaign.batch, Design(), pool="open"
        )
        whole.parts.create(kind="campaign", name="d", campaign=other.campaign)
        nora = User.objects.create(username="nora", role="researcher")
        other.campaign.memberships.create(user=nora, role="annotator")
        assert f"/studies/{whole.pk}/" not in found(nora)
        assert f'<a href="/campaigns/{study.campaign.pk}/">' in found(nora)

    def test_the_end_of_a_job_is_announced_on_every_page(self, study: Study) -> None:
        job = Job.objects.create(
            kind="report", options={"campaign": study.campaign.pk}, question="q", digest="d"
        )
        address = f"/campaigns/{study.campaign.pk}/report/?seed=2"
        JobAsker.objects.create(job=job, user=study.rita, address=address)
        live = client_of(study.rita).get(f"/jobs/{job.key}/live/?next={address}")
        assert f'data-job="{job.key}"' in live.content.decode()
        rita = client_of(study.rita)
        assert rita.get(f"/jobs/notices/?job={job.key}").json() == {
            "active": [job.key],
            "ended": [],
        }
        Job.objects.update(state="done")
        (notice,) = rita.get(f"/jobs/notices/?job={job.key}").json()["ended"]
        assert notice["text"] == "Results, Pilot: ready."
        assert notice["address"] == f"{address}&job={job.key}"
        run("create_judge", "words", "--backend", "lexical")
        begun = JudgeRun.objects.create(
            campaign=study.campaign, judge=Judge.objects.get(), done=3, failures={"timeout": 1}
        )
        asked = f"/jobs/notices/?job=run:{begun.pk}&job=upload:none&job=run:x&job=spoon:1"
        assert rita.get(asked).json() == {"active": [f"run:{begun.pk}"], "ended": []}
        JudgeRun.objects.update(state="done")
        (notice,) = rita.get(asked).json()["ended"]
        assert notice["text"] == "Judge words in Pilot: done, 3 answered, 1 missing."
        assert notice["address"] == f"/judges/runs/{begun.pk}/"
        nobody = client_of(study.root).get(f"/jobs/notices/?job={job.key}").json()
        assert nobody == {"active": [], "ended": []}
