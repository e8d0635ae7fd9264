"""Pay and time per person follow from a rate and the active time on pages."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, rater_of
from annotation.people.pay import PayError, pay_table, read_rate
from tests.api.cast import script_of
from tests.cast import exported, run
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload


def test_a_rate_has_one_form_and_others_are_refused_with_it() -> None:
    assert str(read_rate(" 0,35 eur per item")) == "0.35 EUR per item"
    assert str(read_rate("14 GBP per hour")) == "14 GBP per hour"
    assert read_rate(" ") is None
    for wrong in ("14", "14 EUR", "14 EUR per day", "-1 EUR per item", "14 euros per hour"):
        with pytest.raises(PayError, match=r"write it like 0\.35 EUR per item"):
            read_rate(wrong)


@once
def study() -> Study:
    """Ada took 60 and 120 seconds for two items; Ben has one item without a time."""
    study = make_study()
    for user, times in ((study.ada, (60.0, 120.0)), (study.ben, (None,))):
        for seconds in times:
            mine = study.assignment(user)
            submit(mine, payload("no"), "page")
            Assignment.objects.filter(pk=mine.pk).update(seconds=seconds)
    return study


@pytest.mark.django_db
def test_the_pay_table_lists_people_with_items_time_and_pay(study: Study) -> None:
    change(study.campaign, CampaignSettings(pay="0.50 EUR per item"))
    table = pay_table(study.campaign)
    ada, ben = sorted(table.people, key=lambda each: -each.items)
    assert (ada.items, ada.median, ada.total, ada.pay) == (2, 90.0, 180.0, Decimal("1.00"))
    # A euro for three minutes.
    assert ada.hourly == Decimal("20.00")
    assert (ben.items, ben.timed, ben.pay, ben.hourly) == (1, 0, Decimal("0.50"), None)
    everybody = table.everybody
    assert (everybody.items, everybody.timed, everybody.pay) == (3, 2, Decimal("1.50"))
    assert (everybody.median, everybody.hourly) == (90.0, Decimal("20.00"))

    change(study.campaign, CampaignSettings(pay="12 EUR per hour"))
    ada, ben = sorted(pay_table(study.campaign).people, key=lambda each: -each.items)
    assert (ada.pay, ada.hourly) == (Decimal("0.60"), Decimal("12.00"))
    change(study.campaign, CampaignSettings(pay="3 EUR per person"))
    ada, ben = sorted(pay_table(study.campaign).people, key=lambda each: -each.items)
    assert (ada.pay, ada.hourly) == (Decimal("3.00"), Decimal("60.00"))
    assert (ben.pay, ben.hourly) == (Decimal("3.00"), None)


@pytest.mark.django_db
def test_the_pay_table_is_on_the_page_in_the_api_and_from_the_command(study: Study) -> None:
    run("set_campaign", study.campaign.name, "--pay", "0.5 EUR per item")
    name = rater_of(study.ada).name
    shown = client_of(study.rita).get(reverse("campaign-people", args=[study.campaign.pk]))
    assert "0.5 EUR per item" in shown.content.decode()
    assert "20.00" in shown.content.decode()
    table = script_of(study.rita).get(f"campaigns/{study.campaign.pk}/pay/").json()
    assert table["rate"] == "0.5 EUR per item"
    assert {row["rater"]: row["pay"] for row in table["people"]}[name] == 1.0
    assert table["everybody"]["items"] == 3
    assert f"| {name} | 2 | 1.5 min | 3 min | 1.00 | 20.00 |" in run("pay", study.campaign.name)
    latex = run("pay", study.campaign.name, "--format", "latex")
    assert r"\begin{tabular}" in latex
    (first, *_) = exported(study.campaign.name, "pay")
    assert set(first) >= {"rater", "items", "median_seconds", "pay_per_hour", "currency"}
    with pytest.raises(CommandError, match="not an amount with a currency"):
        run("set_campaign", study.campaign.name, "--pay", "lots")
