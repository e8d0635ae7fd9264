"""A name is one line that people can read: the same rule for every door by which one comes in."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design, DesignError
from annotation.models import Campaign, Rater
from annotation.people.accounts import PeopleError, rename_rater
from annotation.people.teams import create_team, rename_team
from datasets.access import TeamError
from datasets.loading import check_name
from datasets.models import Batch, Team
from judging.judges import Definition, JudgeError, define
from judging.jury import JuryError
from judging.jury import check_name as check_jury_name
from tandem.files.rows import InputError
from tandem.names import why_no_name
from tests.api.cast import script_of
from tests.page_cast import make_study

WRONG = {
    "a line feed": ("a\nb", "has a line end"),
    "a carriage return": ("a\rb", "has a line end"),
    "a line separator": ("a\u2028b", "has a line end"),
    "a next line": ("a\x85b", "has a line end"),
    "a form feed": ("a\fb", "has a line end"),
    "a NUL": ("a\0b", "has a NUL character"),
    "a tab": ("a\tb", "U+0009"),
    "an escape": ("a\x1b[31mb", "U+001B"),
    "a delete": ("a\x7fb", "U+007F"),
    "a bidi override": ("a\u202eb", "U+202E"),
    "a bidi isolate": ("a\u2066b", "U+2066"),
    "a right-to-left mark": ("a\u200fb", "U+200F"),
    "nothing": ("", "is blank"),
    "blanks": ("  ", "is blank"),
    "a zero-width space": ("\u200b", "is blank"),
    "a Hangul filler": ("\u3164", "is blank"),
    "empty Braille": ("\u2800", "is blank"),
    "a combining accent": ("\u0301", "is blank"),
    "too many characters": ("a" * 500, "longer than"),
}
RIGHT = (
    "a", "Study 1", "Zoë", "研究", "الدراسة", "قسم\u200cها", "👩\u200d🔬 team", "cafe\u0301", "3,5",
    "a/b", "*",
)  # fmt: skip


@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
def test_the_rule_names_what_is_wrong(name: str, wrong: str) -> None:
    assert wrong in why_no_name(name, 200)


@pytest.mark.parametrize("name", RIGHT)
def test_a_readable_line_in_any_script_is_a_name(name: str) -> None:
    assert why_no_name(name, 200) == ""


@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
def test_no_door_lets_a_wrong_name_in(db: None, name: str, wrong: str) -> None:
    study = make_study()
    batch, team = Batch.objects.get(), Team.objects.get()
    with pytest.raises(InputError, match=r"the batch's name"):
        check_name(name)
    with pytest.raises(DesignError, match="its name"):
        create_campaign(name, "report-coverage", batch, Design())
    with pytest.raises(JudgeError, match="a judge's name"):
        define(Definition(name, "lexical"), team, study.root)
    with pytest.raises(JuryError, match="a jury's name"):
        check_jury_name(name, None)  # type: ignore[arg-type]
    assert Campaign.objects.count() == 1


@pytest.mark.parametrize("name", ["a\0b", "a\x1bb", "a\u202eb", "\u200b", "\u3164", "a" * 500])
def test_teams_and_pseudonyms_follow_the_same_rule(db: None, name: str) -> None:
    make_study()
    with pytest.raises(TeamError, match="one line"):
        create_team(name)
    with pytest.raises(TeamError, match="one line"):
        rename_team(Team.objects.get(), name)
    with pytest.raises(PeopleError, match="one line"):
        rename_rater(Rater.objects.create(name="somebody"), name)


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "a\u202eb", "\u3164"])
@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("campaigns/", {"batch": "harbour", "protocol": "report-coverage"}),
        ("judges/", {"backend": "lexical"}),
        ("teams/", {}),
        ("batches/{batch}/derive/", {"rule": "typed-queries", "campaigns": ["Pilot"]}),
    ],
)
def test_the_api_refuses_a_wrong_name_as_the_forms_do(
    db: None, path: str, more: dict[str, Any], name: str
) -> None:
    study = make_study()
    where = path.format(batch=Batch.objects.get().pk)
    client = script_of(study.root)
    before = [table.objects.count() for table in (Campaign, Team, Batch, Rater)]
    answer = client.post(where, {"name": name, **more})
    assert answer.status_code in (400, 409, 422), answer.content
    assert [table.objects.count() for table in (Campaign, Team, Batch, Rater)] == before


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "a\u202eb", "\u3164"])
def test_the_api_refuses_a_wrong_pseudonym(db: None, name: str) -> None:
    study = make_study()
    study.assignment(study.ada)
    client, where = script_of(study.root), f"people/{study.ada.pk}/"
    tag = client.get(where)["ETag"]
    answer = client.send("PUT", where, {"pseudonym": name}, {"If_Match": tag})
    assert answer.status_code == 422, answer.content
    assert "one line" in answer.content.decode()
