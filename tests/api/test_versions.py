"""`If-Match`: a change based on an old version is refused, with the current state."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.people.membership import add_member
from tests.api.cast import Script, assert_error, script_of
from tests.page_cast import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(study: Study) -> Script:
    return script_of(study.root)


def cases(study: Study) -> list[tuple[str, str, str, dict[str, Any], dict[str, Any]]]:
    """For each resource, where it is read, how and where it is changed, and two changes."""
    campaign, person = f"campaigns/{study.campaign.pk}/", f"people/{study.ada.pk}/"
    people = f"{campaign}people/"
    return [
        (campaign, "POST", f"{campaign}terms/", {"language": "en"}, {"language": "de"}),
        (people, "PUT", people, {"hold_minutes": 30}, {"hold_minutes": 60}),
        (person, "PUT", person, {"role": "researcher"}, {"role": "annotator"}),
    ]


@pytest.mark.first_case
@pytest.mark.parametrize("which", range(3))
def test_of_two_changes_to_the_same_version_the_second_is_refused(
    root: Script, study: Study, which: int
) -> None:
    read, method, path, one, other = cases(study)[which]
    seen = root.get(read)["ETag"]
    first = root.send(method, path, one, {"If-Match": seen})
    assert first.status_code == 200
    assert first["ETag"] != seen
    refused = root.send(method, path, other, {"If-Match": seen})
    assert_error(refused, 409)
    assert refused.json()["current"] == root.get(read).json()
    assert root.get(read)["ETag"] == first["ETag"]
    assert root.send(method, path, other, {"If-Match": first["ETag"]}).status_code == 200


@pytest.mark.every_case
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("seen", [None, "*", 'W/{}, "another"'])
def test_without_if_match_or_with_a_star_the_change_is_made(
    root: Script, study: Study, which: int, seen: str | None
) -> None:
    read, method, path, one, _ = cases(study)[which]
    headers = {} if seen is None else {"If-Match": seen.format(root.get(read)["ETag"])}
    assert root.send(method, path, one, headers).status_code == 200


def test_an_invalid_etag_is_refused(root: Script, study: Study) -> None:
    path = f"campaigns/{study.campaign.pk}/terms/"
    assert_error(root.post(path, {"language": "en"}, If_Match="three"), 400)


def test_adding_a_member_changes_the_version_of_the_people(root: Script, study: Study) -> None:
    path = f"campaigns/{study.campaign.pk}/people/"
    seen = root.get(path)["ETag"]
    add_member(study.campaign, study.ben, "annotator")
    assert_error(root.put(path, {"hold_minutes": 5}, If_Match=seen), 409)


def test_annotators_get_no_version_of_campaigns(study: Study) -> None:
    assert "ETag" not in script_of(study.ada).get(f"campaigns/{study.campaign.pk}/")
