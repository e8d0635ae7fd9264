"""An unknown name gets the most similar one of those that are offered."""

from __future__ import annotations

import pytest

from tandem.similar import did_you_mean, most_similar
from tandem.verbs import verb_of

NAMES = ("Pilot", "pilot-2", "Überlingen", "crux")


@pytest.mark.parametrize(
    ("name", "found"),
    [("Pilt", "Pilot"), ("PILOT", "Pilot"), ("pilot2", "pilot-2"), ("überlingn", "Überlingen"),
     ("CRUX", "crux"), ("main study", None), ("", None), ("x" * 10_000, None)],
)  # fmt: skip
def test_the_most_similar_name_is_found_whatever_its_case(name: str, found: str | None) -> None:
    assert most_similar(name, NAMES) == found


def test_the_advice_is_given_only_if_no_name_is_similar() -> None:
    assert did_you_mean("Pilt", NAMES, "see the list") == "did you mean 'Pilot'?"
    assert did_you_mean("other", NAMES, "see the list") == "see the list"
    assert did_you_mean("Pilt", (), "see the list") == "see the list"
    assert did_you_mean("Pilt", NAMES, "", lambda name: f"<{name}>") == "did you mean <Pilot>?"


def test_a_command_is_named_by_its_verb() -> None:
    assert verb_of("import_labels") == "tandem labels import"
    assert verb_of("report") == "tandem report"
