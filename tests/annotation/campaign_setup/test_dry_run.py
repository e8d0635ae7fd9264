"""A dry run describes what a campaign would consist of, and stores nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.campaign_setup.creation import create_campaign
from annotation.campaign_setup.dry_run import simulate
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Campaign, Item, QuerySampling, UnitSampling, User
from datasets.models import Batch
from datasets.work.guard import InRequestError, answering_request
from tests.cast import Line, campaign_of, load, run
from tests.team_cast import move_to_own_team

QUERIES = 20


def query(n: int) -> Line:
    return {
        "id": f"q{n}",
        "text": "Why?",
        "questions": [{"id": f"q{n}:{x}", "text": "When?"} for x in "abc"],
        "reports": [{"id": f"r{n}{x}", "text": "So."} for x in "xy"],
    }


@pytest.fixture
def many(db: None, tmp_path: Path) -> Batch:
    load(tmp_path, [query(n) for n in range(QUERIES)])
    return Batch.objects.get(name="b")


DESIGNS = {
    "plain": Design(),
    "three": Design(raters_per_item=3, seed=4),
    "overlap": Design(raters_per_item=3, overlap=0.25, seed=2),
    "sampled": Design(raters_per_item=2, human_share=0.6, development=0.2, seed=9),
}


@pytest.mark.every_case
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_a_dry_run_predicts_the_created_campaign(many: Batch, design: Design) -> None:
    with answering_request(), pytest.raises(InRequestError):
        simulate("c", "report-coverage", many, design, people=4)
    predicted = simulate("c", "report-coverage", many, design, people=4)
    assert not any(model.objects.exists() for model in (Campaign, Item, QuerySampling))
    made = create_campaign("c", "report-coverage", many, design)
    assert (predicted.items, predicted.units, predicted.places) == (
        made.items,
        made.units,
        made.places,
    )
    items = made.campaign.items
    assert predicted.several == items.filter(quota__gt=1).count()
    assert predicted.asked_queries == made.campaign.query_samplings.filter(drawn=True).count()
    assert predicted.judge_only == made.campaign.query_samplings.filter(drawn=False).count()
    roles = list(made.campaign.query_samplings.values_list("role", flat=True))
    assert predicted.roles == {role: roles.count(role) for role in set(roles)}
    assert sum(share.items for share in predicted.shares) == predicted.places - predicted.unfilled


def test_a_dry_run_counts_only_sampled_units(batch: Path) -> None:
    found = Batch.objects.get(name="b")
    predicted = simulate("c", "rubric-passage", found, Design(per_passage=1))
    made = create_campaign("c", "rubric-passage", found, Design(per_passage=1))
    assert predicted.units == made.units == UnitSampling.objects.filter(drawn=True).count()


def test_people_get_equal_numbers_of_items_and_shared_units_are_counted(many: Batch) -> None:
    predicted = simulate("c", "report-coverage", many, Design(raters_per_item=2), people=4)
    assert [share.items for share in predicted.shares] == [20] * 4
    assert [share.units for share in predicted.shares] == [60] * 4
    assert predicted.common is not None
    assert predicted.common[1] <= 60
    everybody = simulate("c", "report-coverage", many, Design(raters_per_item=2), people=2)
    assert everybody.common == (120, 120)


def test_too_few_people_leave_slots_unfilled(many: Batch) -> None:
    predicted = simulate("c", "report-coverage", many, Design(raters_per_item=3), people=2)
    assert (predicted.places, predicted.unfilled) == (120, 40)
    pairs = simulate("c", "report-coverage", many, Design(raters_per_item=2), people=2)
    assert predicted.kappa == pairs.kappa
    assert predicted.kappa.width is not None


def test_expected_intervals_use_the_right_units(many: Batch) -> None:
    design = Design(raters_per_item=2, overlap=0.5, human_share=0.8, development=0.25)
    predicted = simulate("c", "report-coverage", many, design, people=2)
    assert predicted.share.units == 16 * 2 * 3
    assert predicted.kappa.units == 16 * 3
    assert predicted.powered is not None
    assert predicted.powered.units == 12 * 2 * 3
    assert simulate("c", "report-coverage", many, Design()).powered is None


def test_assumptions_change_the_widths(many: Batch) -> None:
    design = Design(raters_per_item=2)
    alike = simulate("c", "report-coverage", many, design, assumptions=Assumptions(icc=0.5))
    apart = simulate("c", "report-coverage", many, design, assumptions=Assumptions(icc=0.05))
    assert alike.kappa.width is not None
    assert apart.kappa.width is not None
    assert alike.kappa.width > apart.kappa.width


class TestRefusals:
    def test_a_dry_run_makes_the_same_checks_as_creation(self, many: Batch) -> None:
        for protocol, design in (
            ("report-coverage", Design(variables=("nothing",))),
            ("report-coverage", Design(prerequisite="nowhere")),
            ("rubric-passage", Design(sampling="own")),
            ("grounding-relevance", Design()),
        ):
            with pytest.raises(DesignError) as raised:
                simulate("c", protocol, many, design)
            with pytest.raises(DesignError) as made:
                create_campaign("c", protocol, many, design)
            assert str(raised.value) == str(made.value)

    def test_a_dry_run_checks_settings(self, many: Batch) -> None:
        for settings, message in (
            (CampaignSettings(qualify=2.0), "qualify is not above 0"),
            (CampaignSettings(language="no tag"), "is not a tag"),
        ):
            with pytest.raises(DesignError, match=message):
                simulate("c", "report-coverage", many, Design(), settings)

    def test_practice_of_an_unreadable_campaign_is_refused(self, many: Batch) -> None:
        campaign_of("report-coverage", name="first")
        Item.objects.filter(position=0).update(use=Item.Use.PRACTICE)
        settings = CampaignSettings(practice_of="first")
        assert simulate("c", "report-coverage", many, Design(), settings).items == 40
        olga = User.objects.create(username="olga", role="researcher")
        move_to_own_team(olga)
        with pytest.raises(DesignError, match="campaign 'first', which does not exist"):
            simulate("c", "report-coverage", many, Design(), settings, by=olga)

    def test_a_taken_name_is_refused(self, many: Batch) -> None:
        campaign_of("report-coverage")
        with pytest.raises(DesignError, match="exists already"):
            simulate("c", "report-coverage", many, Design())
        assert simulate("another", "report-coverage", many, Design()).items == 40

    def test_too_many_items_for_a_page_are_refused(self, many: Batch) -> None:
        with pytest.raises(DesignError, match="more than 10 items; use tandem campaign create"):
            simulate("c", "report-coverage", many, Design(), most=10)

    def test_the_maximum_of_items_for_a_page_is_accepted(self, many: Batch) -> None:
        seen: list[int] = []
        predicted = simulate("c", "report-coverage", many, Design(), most=40, progress=seen.append)
        assert predicted.items == 40
        assert seen == list(range(1, 41))
        with pytest.raises(DesignError, match="more than 39 items"):
            simulate("c", "report-coverage", many, Design(), most=39)

    @pytest.mark.parametrize("people", [0, 1001])
    def test_an_invalid_number_of_people_is_refused(self, many: Batch, people: int) -> None:
        with pytest.raises(DesignError, match="the number of people must be 1 to 1000"):
            simulate("c", "report-coverage", many, Design(), people=people)

    @pytest.mark.parametrize("people", [1, 1000])
    def test_the_smallest_and_largest_numbers_of_people_are_accepted(
        self, many: Batch, people: int
    ) -> None:
        predicted = simulate("c", "report-coverage", many, Design(), people=people)
        assert len(predicted.shares) == people


class TestCommand:
    def dry(self, *arguments: str) -> str:
        command = ("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
        return run(*command, "--dry-run", *arguments)

    def test_the_command_describes_the_dry_run(self, many: Batch) -> None:
        output = self.dry("--raters-per-item", "3", "--overlap", "0.5", "--people", "4")
        assert "Nothing is stored" in output
        assert "40 items with 120 questions from 20 queries" in output
        assert "80 annotator slots" in output
        assert "kappa" in output
        assert "Assumed: true kappa 0.6" in output
        assert not Campaign.objects.exists()

    def test_assumptions_are_given_and_checked(self, many: Batch) -> None:
        assert "Assumed: true kappa 0.8" in self.dry("--assume", "kappa=0.8")
        for wrong in ("kappa=2", "kappa=x", "colour=1"):
            with pytest.raises(CommandError, match=r"give another number|is not K=V"):
                self.dry("--assume", wrong)
