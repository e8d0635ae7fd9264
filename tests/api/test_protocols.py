"""Teams' protocols by the API: stored, checked, read, used by campaigns, and deleted."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.protocol_maker.forms import START
from annotation.models import Campaign, ProtocolFile
from annotation.protocol_files import store
from annotation.registry import TASKS
from tandem.protocols.file_structure import LONGEST, schema, write_protocol
from tandem.protocols.protocol_file import read_protocol
from tests.api.cast import Script, script_of
from tests.page_cast import Study, make_study
from tests.team_cast import join_team, move_to_own_team

pytestmark = pytest.mark.django_db
FILE = write_protocol(START)


@pytest.fixture
def study() -> Study:
    study = make_study()
    join_team(study.rita, study.campaign.team, "owner")
    return study


@pytest.fixture
def rita(study: Study) -> Script:
    return script_of(study.rita)


def create(script: Script, protocol: str, **more: Any) -> Any:
    sent = {"name": "Own", "protocol": protocol, "batch": "harbour", "pool": "open", **more}
    return script.post("campaigns/", sent)


def test_a_file_is_stored_once_and_read_back(rita: Script) -> None:
    made = rita.post("protocols/", {"text": FILE})
    assert made.status_code == 201
    again = rita.post("protocols/", {"text": FILE})
    assert again.json()["id"] == made.json()["id"]
    found = rita.get(f"protocols/{made.json()['id']}/").json()
    assert (found["name"], found["version"], found["text"]) == ("helpfulness", "1", FILE)
    assert [each["id"] for each in rita.get("protocols/").json()["results"]] == [found["id"]]
    assert rita.get("protocols/?name=other").json()["results"] == []


def test_the_file_itself_can_be_sent(rita: Script) -> None:
    headers = {"Authorization": f"Token {rita.token}"}
    sent = "/api/v1/protocols/", FILE.encode(), "application/toml"
    made = rita.client.generic("POST", *sent, headers=headers)
    assert made.status_code == 201
    assert ProtocolFile.objects.get().text == FILE
    odd = rita.client.generic("POST", sent[0], b"\xff", sent[2], headers=headers)
    assert odd.status_code == 400
    long = rita.client.generic("POST", sent[0], b"#" * (4 * LONGEST + 1), sent[2], headers=headers)
    assert long.status_code == 413


def test_texts_beside_the_file_come_with_it(rita: Script) -> None:
    document = {**START, "guideline": {"file": "guide.md"}}
    text = write_protocol(document)
    assert rita.post("protocols/", {"text": text}).status_code == 422
    made = rita.post("protocols/", {"text": text, "parts": {"guide.md": "Read."}})
    assert made.json()["parts"] == {"guide.md": "Read."}
    many = dict.fromkeys("abcde", "Read.")
    assert rita.post("protocols/", {"text": text, "parts": many}).status_code == 400


def test_each_error_names_its_line(rita: Script) -> None:
    wrong = FILE.replace('"ordinal"', '"ordinl"').replace("[item]", "[item]\nof = 1")
    for path in ("protocols/", "protocols/check/"):
        refused = rita.post(path, {"text": wrong})
        assert refused.status_code == 422
        fields = [each["field"] for each in refused.json()["problems"]]
        lines = wrong.split("\n")
        expected = {lines.index("of = 1") + 1, lines.index('level = "ordinl"') + 1}
        assert set(fields) == {f"text.{line}" for line in expected}
    assert not ProtocolFile.objects.exists()


def test_a_check_says_what_fits_and_stores_nothing(rita: Script) -> None:
    found = rita.post("protocols/check/", {"text": FILE, "batch": "harbour"}).json()
    assert found["variables"] == ["helpful"]
    assert found["fits"] == "It fits 'harbour': 2 units of 2 reports."
    assert rita.post("protocols/check/", {"text": FILE}).json()["fits"] is None
    assert rita.post("protocols/check/", {"text": FILE, "batch": "nowhere"}).status_code == 400
    assert not ProtocolFile.objects.exists()


def test_the_schema_of_the_file_is_served(rita: Script) -> None:
    assert rita.get("protocols/schema/").json() == schema()


def test_a_campaign_names_a_protocol_of_its_team(rita: Script) -> None:
    rita.post("protocols/", {"text": FILE})
    newer = rita.post("protocols/", {"text": FILE.replace('version = "1"', 'version = "2"')})
    assert create(rita, "helpfulness@1", name="First").status_code == 201
    assert create(rita, "helpfulness", name="Newest").status_code == 201
    assert str(Campaign.objects.get(name="Newest").protocol_file_id) == newer.json()["id"]
    assert Campaign.objects.get(name="First").protocol_version == "1"
    wrong = create(rita, "helpfulnes", name="Third")
    assert wrong.status_code == 422
    assert "did you mean 'helpfulness'?" in wrong.json()["problems"][0]["wrong"]
    assert create(rita, next(iter(TASKS)), name="Step").status_code == 400


def test_a_used_version_stays_as_it_is(rita: Script) -> None:
    uid = rita.post("protocols/", {"text": FILE}).json()["id"]
    create(rita, "helpfulness")
    changed = FILE.replace("person who asked", "one who asked")
    refused = rita.post("protocols/", {"text": changed})
    assert refused.status_code == 422
    assert "give it a new version" in refused.json()["error"]
    assert rita.post(f"protocols/{uid}/delete/").status_code == 422
    Campaign.objects.get(name="Own").delete()
    assert rita.post(f"protocols/{uid}/delete/").json() == {"deleted": "helpfulness 1"}
    assert not ProtocolFile.objects.exists()


def test_two_teams_have_one_name_each_and_never_see_the_others(rita: Script, study: Study) -> None:
    rita.post("protocols/", {"text": FILE})
    team = move_to_own_team(study.ben, name="others")
    other = store(read_protocol(FILE.replace("Helpfulness", "Theirs"), "own.toml"), team)
    assert "Theirs" not in rita.get("protocols/").content.decode()
    for path in (f"protocols/{other.uid}/", f"protocols/{other.uid}/delete/"):
        sent = rita.post(path) if path.endswith("delete/") else rita.get(path)
        assert sent.status_code == 404
    create(rita, "helpfulness")
    assert Campaign.objects.get(name="Own").protocol_file != other


def test_members_read_and_only_managers_change(rita: Script, study: Study) -> None:
    uid = rita.post("protocols/", {"text": FILE}).json()["id"]
    join_team(study.rita, study.campaign.team, "member")
    assert rita.get(f"protocols/{uid}/").status_code == 200
    assert rita.post(f"protocols/{uid}/delete/").status_code == 403
    newer = FILE.replace('version = "1"', 'version = "2"')
    assert rita.post("protocols/", {"text": newer}).status_code == 422
    assert script_of(study.ada).get("protocols/").status_code == 403
