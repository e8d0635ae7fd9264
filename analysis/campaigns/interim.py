"""Whether people have labelled as many queries as the study's registered plan names."""

from __future__ import annotations

from analysis.campaigns.people_sample import unfinished_queries
from annotation.models import Campaign, Item
from tandem.document import count
from tandem.labels.frame import Warning
from tandem.sections.sentence import Part, Sentence
from tandem.types import JSON


def interim_of(campaign: Campaign, with_assisted: bool = False) -> JSON:
    """Return the numbers of labelled and registered queries; empty if the report is no interim one.

    A query is labelled once each vote that the design asks of it is in, or declined with a reason.
    """
    registered = campaign.registered_queries
    if not registered:
        return {}
    asked = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    queries = set(asked.order_by().values_list("query__key", flat=True))
    labelled = len(queries - unfinished_queries(campaign, with_assisted))
    return {} if labelled >= registered else {"labelled": labelled, "registered": registered}


def describe_interim(found: JSON) -> str:
    verb = "is" if found["registered"] == 1 else "are"
    of = count(found["registered"], "registered query", "registered queries")
    return f"{found['labelled']:,} of {of} {verb} labelled"


def about_interim(found: JSON) -> JSON:
    """Return the sentence with which the verdict of an interim report begins."""
    words = f"{describe_interim(found)}, and figures may change until the rest are"
    return Sentence("Is this the final report?", "Interim", "open", (Part(words),)).as_json()


def interim_warnings(campaign: Campaign) -> list[JSON]:
    """Return a warning for figures without a verdict, which would say the same."""
    if not (found := interim_of(campaign)):
        return []
    return [Warning("interim", None, None, f"Interim: {describe_interim(found)}.")._asdict()]
