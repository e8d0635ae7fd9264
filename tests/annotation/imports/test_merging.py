"""Merging an imported answer into the stored one: which quotes, scores and comments stay."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.answers.types import Detail
from annotation.imports.importer import details_of, merge_payloads

pytestmark = pytest.mark.every_case


def payload(comment: str | None = None, details: Any = None, **units: Any) -> dict[str, Any]:
    given = {"units": units, "comment": comment}
    return given | ({} if details is None else {"details": details})


def quote(text: str, variable: str | None = None) -> dict[str, Any]:
    return {"quote": text} | ({} if variable is None else {"variable": variable})


def test_without_a_stored_answer_the_import_is_unchanged() -> None:
    given = payload("so", {"u": {}}, u={"v": "yes"})
    assert merge_payloads(None, given, "v") is given


def test_units_and_variables_not_in_the_file_stay() -> None:
    stands = payload(None, None, u={"v": "yes", "w": "3"}, x={"v": "no"}) | {"more": 1}
    found = merge_payloads(stands, payload(None, None, u={"v": "no"}, y={"v": "yes"}), "v")
    assert found == {
        "units": {"u": {"v": "no", "w": "3"}, "x": {"v": "no"}, "y": {"v": "yes"}},
        "comment": None, "more": 1,
    }  # fmt: skip
    assert stands["units"]["u"] == {"v": "yes", "w": "3"}


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [(None, None, None), ("old", None, "old"), ("old", "", "old"), ("old", "new", "new"),
     (None, "new", "new")],
)  # fmt: skip
def test_a_comment_stays_until_another_comes(
    before: str | None, given: str | None, after: str | None
) -> None:
    stands = payload(before, None, u={"v": "yes"})
    assert merge_payloads(stands, payload(given, None, u={"v": "yes"}), "v")["comment"] == after
    del stands["comment"]
    assert merge_payloads(stands, payload(given, None), "v")["comment"] == (given or None)


OLD = [quote("a", "v"), quote("b", "w"), quote("c")]


@pytest.mark.parametrize(
    ("evidence", "new", "kept"),
    [
        # A quote that names no variable belongs to that of its rule.
        ("v", {"v": "yes"}, ["a", "b", "c"]),
        ("v", {"v": "no"}, ["b"]),
        ("w", {"v": "no"}, ["b", "c"]),
        ("v", {"w": "4"}, ["a", "c"]),
        ("v", {"x": "1"}, ["a", "b", "c"]),
        # Without a rule a quote that names no variable belongs to none, and stays.
        (None, {"v": "no"}, ["b", "c"]),
        ("v", {"v": "yes", "evidence": [quote("n", "v")]}, ["b", "n"]),
        ("v", {"v": "no", "evidence": [quote("n", "v")]}, ["b", "n"]),
        ("v", {"v": "yes", "evidence": [quote("n", "w")]}, ["a", "c", "n"]),
        ("v", {"v": "yes", "evidence": []}, ["a", "b", "c"]),
        ("v", {"v": "yes", "evidence": None}, ["a", "b", "c"]),
        ("v", {"v": "no", "w": "4"}, []),
    ],
)
def test_stored_quotes_stay_only_with_an_equal_value(
    evidence: str | None, new: dict[str, Any], kept: list[str]
) -> None:
    stands = payload(None, None, u={"v": "yes", "w": "3", "evidence": OLD})
    found = merge_payloads(stands, payload(None, None, u=new), evidence)["units"]["u"]
    assert [each["quote"] for each in found["evidence"]] == kept


@pytest.mark.parametrize(
    ("old", "new", "has"),
    [
        ({"v": "yes"}, {"v": "no"}, False),
        ({"v": "yes", "evidence": []}, {"v": "no"}, True),
        ({"v": "yes"}, {"v": "yes", "evidence": [quote("n", "v")]}, True),
        ({"v": "yes", "evidence": [quote("a", "v")]}, {"v": "no"}, True),
    ],
)
def test_an_answer_that_never_had_quotes_gets_no_empty_list(
    old: dict[str, Any], new: dict[str, Any], has: bool
) -> None:
    found = merge_payloads(payload(None, None, u=old), payload(None, None, u=new), "v")
    assert ("evidence" in found["units"]["u"]) is has


def test_details_stay_only_with_an_equal_value_and_new_ones_take_precedence() -> None:
    details = {"u": {"v": {"score": 0.1}, "w": {"score": 0.2}}, "x": {"v": {"score": 0.3}}}
    stands = payload(None, details, u={"v": "yes", "w": "3"}, x={"v": "no"})

    def after(given: dict[str, Any], more: Any = None) -> Any:
        return merge_payloads(stands, payload(None, more, u=given), "v").get("details")

    assert after({"v": "yes"}) == details
    assert after({"v": "no"}) == {"u": {"w": {"score": 0.2}}, "x": details["x"]}
    assert after({"v": "no", "w": "4"}) == {"x": details["x"]}
    given = {"u": {"v": {"score": 0.9}}}
    for value in ("yes", "no"):
        assert after({"v": value}, given) == {
            "u": {"v": {"score": 0.9}, "w": {"score": 0.2}}, "x": details["x"],
        }  # fmt: skip


def test_without_details_the_details_key_is_absent() -> None:
    stands = payload(None, {"u": {"v": {"score": 0.1}}}, u={"v": "yes"})
    assert "details" not in merge_payloads(stands, payload(None, None, u={"v": "no"}), "v")
    bare = payload(None, None, u={"v": "yes"})
    assert "details" not in merge_payloads(bare, payload(None, {"u": {}}, u={"v": "no"}), "v")
    details = {"u": {"v": {"meta": {"a": 1}}}}
    assert merge_payloads(bare, payload(None, details, u={"v": "no"}), "v")["details"] == details


def test_details_are_score_and_meta_by_unit_and_variable() -> None:
    details = {"u": {"v": {"score": 0.5}, "w": {"meta": {"a": 1}}}, "x": {"v": {}}}
    assert details_of(payload(None, details)) == {
        ("u", "v"): Detail(0.5, None),
        ("u", "w"): Detail(None, {"a": 1}),
        ("x", "v"): Detail(None, None),
    }
    assert details_of(payload()) == {}
