"""No answer may be written if no passage is shown; tested without a database."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.prerequisites.grounded_answer import check_grounds
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.protocols.base import ItemSpec, Text, UnitSpec
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Entry, Prose, RefusedError

ASKED = schema_of(PROTOCOLS["grounded-answer"])
QUERY = UnitSpec("query", "q", "Who built it?")
BARE = ItemSpec("q", (QUERY,), (Text("report:r", "Anna built it."),))
GROUNDED = ItemSpec("q", (QUERY,), (*BARE.texts, Text("passage:p", "Anna built it.")))
WROTE = Entry("q", QUERY, {}, (), written=Prose("Anna.", ()))
DEFLECTED = Entry("d", QUERY, {"deflected": "yes"}, ())


def is_taken(asked: Schema, spec: ItemSpec, entry: Entry, door: Any) -> bool:
    try:
        check_grounds(asked, spec, [entry], door)
    except RefusedError:
        return False
    return True


@pytest.mark.every_case
@pytest.mark.parametrize("door", ["page", "api"])
def test_a_written_answer_without_a_passage_is_refused(door: Any) -> None:
    with pytest.raises(RefusedError) as error:
        check_grounds(ASKED, BARE, [DEFLECTED, WROTE], door)
    assert [(each.unit, each.key, str(each.message)) for each in error.value.problems] == [
        ("q", "written", "is written although there is no passage to write it from; give yes for "
                         "deflected"),
    ]  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("door", ["page", "api", "judge", "import"])
def test_deflections_grounded_answers_and_imports_are_accepted(door: Any) -> None:
    history, coverage = door in ("judge", "import"), schema_of(PROTOCOLS["report-coverage"])
    assert is_taken(ASKED, BARE, DEFLECTED, door)
    assert is_taken(ASKED, GROUNDED, WROTE, door)
    assert is_taken(coverage, BARE, WROTE, door)
    assert is_taken(ASKED, BARE, WROTE, door) == history
