"""Pages call a unit what its protocol asks about."""

from __future__ import annotations

import pytest

from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from annotation.templatetags.annotation_tags import unit_noun


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("protocol", "variables", "one", "several"),
    [
        ("report-coverage", [], "question", "questions"),
        ("key-point-recall", [], "key point", "key points"),
        ("grounding-relevance", [], "passage", "passages"),
        ("question-typing", [], "query", "queries"),
        ("answer-rating", ["support"], "sentence", "sentences"),
        ("answer-rating", ["support", "eligibility"], "unit", "units"),
    ],
)
def test_the_noun_follows_the_kind_of_unit_and_is_general_for_several_kinds(
    protocol: str, variables: list[str], one: str, several: str
) -> None:
    campaign = Campaign(
        protocol=protocol,
        protocol_version=PROTOCOLS[protocol].version,
        options={"variables": variables},
    )
    assert (unit_noun(campaign), unit_noun(campaign, 2)) == (one, several)
