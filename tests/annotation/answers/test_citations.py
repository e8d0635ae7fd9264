"""A citation must refer to a passage of the item in which something was selected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import Outcome, submit
from annotation.campaigns.design import Design
from annotation.models import Response
from tandem.protocols.consistency import passage_of
from tandem.protocols.validation import RefusedError
from tests.page_cast import Study, study_of

pytestmark = pytest.mark.django_db


def sent(study: Study, door: Any, citations: list[str], selected: dict[str, str]) -> Outcome:
    """Ada's answer to the first request; sentences and passages are *no* by default."""
    assignment = study.assignment(study.ada)
    units: dict[str, Any] = {}
    for name in assignment.asked:
        if name == "q/1":
            written = {"text": "By hand [1].", "citations": citations}
            units[name] = {"descriptor": "partial", "deflected": "no", "written": written}
        else:
            units[name] = {"selected": selected.get(name, "no")}
    return submit(assignment, {"units": units, "comment": None}, door)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_of("grounded-answer", tmp_path)


def test_a_selected_sentence_makes_its_passage_citable(study: Study) -> None:
    names = study.assignment(study.ada).asked
    sentence = next(name for name in names if name.endswith("p#1"))
    assert sent(study, "page", ["p"], {sentence: "yes"}).created


def test_a_selected_passage_is_citable(study: Study) -> None:
    names = [n for n in study.assignment(study.ada).asked if n != "q/1"]
    assert sent(study, "api", ["p#1"], {names[-1]: "yes"}).created


@pytest.mark.every_case
@pytest.mark.parametrize("door", ["page", "api"])
@pytest.mark.parametrize(
    ("cited", "said"),
    [("p", "is cited but nothing in it is selected"), ("p2", "is not a passage of this item")],
)
def test_page_and_api_refuse_other_passages_by_name(
    study: Study, door: str, cited: str, said: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        sent(study, door, [cited], {})
    problem = caught.value.problems[0]
    assert (problem.unit, problem.key) == ("q/1", "citations")
    assert f"{cited!r} {said}" in problem.message
    assert not Response.objects.exists()


def test_each_wrong_citation_is_named_once(study: Study) -> None:
    with pytest.raises(RefusedError) as caught:
        sent(study, "page", ["p", "p", "p#1"], {})
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("door", ["import", "judge"])
def test_wrong_citations_of_files_and_judges_give_warnings(study: Study, door: str) -> None:
    outcome = sent(study, door, ["p"], {})
    assert outcome.created
    assert ["nothing in it is selected" in str(w) for w in outcome.warnings] == [True]


def test_every_shown_passage_is_citable_if_selection_is_not_asked(tmp_path: Path) -> None:
    design = Design(variables=("descriptor", "deflected"), passages="relevant")
    study = study_of("grounded-answer", tmp_path, design)
    assert sent(study, "page", ["p"], {}).created


def test_a_passage_that_is_not_shown_is_not_citable(tmp_path: Path) -> None:
    design = Design(variables=("descriptor", "deflected"), passages="relevant")
    study = study_of("grounded-answer", tmp_path, design)
    with pytest.raises(RefusedError, match="not a passage of this item"):
        sent(study, "page", ["p#1"], {})


def test_the_passage_of_a_unit_is_found_whatever_its_id_holds() -> None:
    assert passage_of("q/1", "passage-sentence", "q/1/p#1#2") == "p#1"
    assert passage_of("q/1", "passage", "q/1/p#1") == "p#1"
    assert passage_of("q", "passage-sentence", "q/q/p#1") == "q/p"
