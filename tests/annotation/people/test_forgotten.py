"""Nothing that the site stores or exports identifies a person who was forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.test import Client
from knox.models import AuthToken

from analysis.campaigns.reports import campaign_report
from analysis.frozen.store import freeze
from analysis.models import FrozenReport
from annotation.answers.submission import submit
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.exports.bundles import BUNDLES, download, export_options
from annotation.models import Campaign, Label, User
from annotation.people.accounts import forget
from annotation.people.invitations import invite, join
from annotation.people.membership import exclude
from audit.seals import find_broken_seals, seal
from tandem.labels.selection import ReportOptions
from tests.once import once
from tests.page_cast import PASSWORD, Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db
NAME = "zebulon-quill"


@once
def study() -> Study:
    """Ben, and Zebulon, a researcher who also labels and has left a trace wherever possible."""
    study = make_study()
    User.objects.filter(pk=study.rita.pk).update(username=NAME, first_name=NAME, last_name=NAME)
    study.rita.refresh_from_db()
    study.rita.set_password(PASSWORD)
    study.rita.save()
    invited = invite("researcher", study.campaign, "researcher", note=f"for {NAME}", by=study.root)
    join(invited.invitation, study.rita)
    submit(study.assignment(study.rita), payload("no"), "page")
    done = study.assignment(study.ben)
    submit(done, payload("no"), "page")
    exclude(study.campaign, done.rater, "a reason", study.rita)
    change(study.campaign, CampaignSettings(guideline="Look twice."), user=study.rita)
    report = campaign_report(study.campaign, ReportOptions(resamples=2))
    freeze(study.campaign, report, "", study.rita)
    AuthToken.objects.create(study.rita)
    for word in (PASSWORD, "a wrong guess"):
        Client().post("/login/", {"username": NAME, "password": word})
    client_of(study.rita).get("/campaigns/")
    seal()
    return study


def kept() -> dict[str, str]:
    """Every table as text."""
    return {
        model._meta.db_table: repr(list(model._default_manager.values_list()))
        for model in apps.get_models(include_auto_created=True)
    }


def given_away(campaign: Campaign) -> Iterator[str]:
    """Every export that is a text, in each of its forms; archives hold the same lines."""
    for offer in export_options(campaign):
        for form in {*offer.forms} & {"jsonl", "csv", "json", "jsonld"}:
            if offer.what not in BUNDLES:
                yield b"".join(download(campaign, offer.what, form).pieces).decode()


def test_the_persons_name_is_stored_before_the_erasure(study: Study) -> None:
    tables = {table for table, text in kept().items() if NAME in text}
    assert {"annotation_user", "annotation_invitation", "analysis_frozenreport"} <= tables


def test_no_table_contains_the_name_after_the_erasure(study: Study) -> None:
    labels = Label.objects.count()
    assert forget(study.rita)
    assert {table for table, text in kept().items() if NAME in text} == set()
    assert Label.objects.count() == labels
    assert FrozenReport.objects.get().by_name == "a deleted account"
    assert FrozenReport.objects.get().is_whole
    seal()
    assert list(find_broken_seals()) == []


def test_no_export_in_any_format_names_an_account(study: Study) -> None:
    files = list(given_away(study.campaign))
    assert len(files) > 5
    assert not [text for text in files if NAME in text or '"ben"' in text]
