"""Which answers of a first round may be shown in a second one, read from a release's files."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.release.material import _has_gap, _is_usable, _places
from annotation.protocols import PROTOCOLS

RULE = PROTOCOLS["grounded-answer"].written
ITEM = {"units": [{"kind": "query", "unit": "q"}, *(
    {"kind": "passage-sentence", "unit": f"p#{n}"} for n in (1, 2, 3)
), {"kind": "passage", "unit": "q"}]}  # fmt: skip


def test_units_are_found_by_either_of_their_names() -> None:
    places = _places(ITEM)
    assert (places["p#1"], places["passage-sentence:p#1"]) == (1, 1)
    assert (places["query:q"], places["passage:q"]) == (0, 4)


@pytest.mark.parametrize(
    ("chosen", "expected"), [("", False), ("1", False), ("12", False), ("13", True), ("123", False)]
)
def test_a_gap_is_between_selected_sentences(chosen: str, expected: bool) -> None:
    units = {f"p#{n}": {"selected": "yes" if str(n) in chosen else "no"} for n in (1, 2, 3)}
    assert _has_gap(units, _places(ITEM)) is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"descriptor": "complete", "deflected": "no"}, True),
        ({"descriptor": "no-answer", "deflected": "no"}, False),
        ({"descriptor": "partial", "deflected": "yes"}, False),
        ({"descriptor": "partial"}, False),
    ],
)
def test_a_deflection_is_not_shown(answer: Any, expected: bool) -> None:
    assert RULE is not None
    units = {"q": answer, "p#1": {"selected": "yes"}}
    assert _is_usable(units, RULE, ("descriptor", "deflected")) is expected


def test_an_imported_answer_may_lack_a_question_that_nobody_was_asked() -> None:
    assert RULE is not None
    assert _is_usable({"q": {"descriptor": "partial"}}, RULE, ("descriptor",))
