"""Labels as columns."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.data.frame import Scale, make_frame
from tests.analysis.cast import JUDGE, fact, frame_of, table

pytestmark = pytest.mark.postgresql


def test_each_unit_is_a_row_and_each_rater_a_column() -> None:
    labels = frame_of(table({"Ada": "yn", "Bram": "yy"})).variables["answerable"]
    assert [r.name for r in labels.raters] == ["Ada", "Bram"]
    assert labels.codes.tolist() == [[0, 0], [1, 0]]


def test_a_unit_that_a_rater_did_not_label_has_no_code() -> None:
    labels = frame_of(table({"Ada": "yn", "Bram": "y."})).variables["answerable"]
    assert labels.codes.tolist() == [[0, 0], [1, -1]]


def test_an_escape_is_no_category_and_is_counted() -> None:
    labels = frame_of(table({"Ada": "y?", "Bram": "??"})).variables["answerable"]
    assert labels.codes.tolist() == [[0, -1], [-1, -1]]
    assert labels.escapes == {"invalid": 3}


def test_an_escape_that_nobody_used_is_said_to_be_zero() -> None:
    assert frame_of(table({"Ada": "yn"})).variables["answerable"].escapes == {"invalid": 0}


def test_a_judges_escapes_are_not_counted_among_people() -> None:
    labels = frame_of(table({"Ada": "yn", JUDGE: "?y"})).variables["answerable"]
    assert labels.escapes == {"invalid": 0}
    assert labels.aside(JUDGE, is_missing=False) == {"invalid": 1}


def test_a_missing_judgement_is_no_label_and_keeps_its_reason() -> None:
    lost = fact("r0", "q0", JUDGE, None, missing="unreadable")
    frame = frame_of([*table({"Ada": "yn"}), lost])
    labels = frame.variables["answerable"]
    assert labels.codes[:, 1].tolist() == [-1, -1]
    assert labels.aside(JUDGE, is_missing=True) == {"unreadable": 1}
    assert {r.name: r.labels for r in frame.raters} == {"Ada": 2, JUDGE: 0}


def test_labels_made_with_a_suggestion_in_view_stay_out_and_are_counted() -> None:
    frame = frame_of([*table({"Ada": "yn"}), *table({"Dana": "yy"}, assisted_by=JUDGE)])
    assert [r.name for r in frame.raters] == ["Ada"]
    assert len(frame.assisted) == 2


def test_a_repeated_judgement_is_not_another_rater() -> None:
    again = fact("r0", "q0", JUDGE, "no", replicate=1)
    first = fact("r0", "q0", JUDGE, "yes", replicate=0)
    for facts in ([first, again], [again, first]):
        assert frame_of(facts).variables["answerable"].codes.tolist() == [[0]]


def test_repeated_judgements_that_are_missing_count_once() -> None:
    none = [fact("r0", "q0", JUDGE, None, missing="refused", replicate=n) for n in range(3)]
    labels = frame_of(none).variables["answerable"]
    assert labels.aside(JUDGE, is_missing=True) == {"refused": 1}


def test_no_later_judgement_is_taken_because_the_first_failed() -> None:
    failed = fact("r0", "q0", JUDGE, None, missing="timeout", replicate=0)
    again = fact("r0", "q0", JUDGE, "yes", replicate=1)
    for facts in ([failed, again], [again, failed]):
        labels = frame_of(facts).variables["answerable"]
        assert labels.codes.tolist() == [[-1]]
        assert labels.aside(JUDGE, is_missing=True) == {"timeout": 1}


def test_two_kinds_of_unit_with_one_key_stay_apart() -> None:
    facts = [fact("r", "r#1", "Ada", "yes", kind=kind) for kind in ("report", "sentence")]
    assert len(frame_of(facts).variables["answerable"].codes) == 2


def test_a_bare_file_has_the_categories_that_people_used() -> None:
    facts = table({"Ada": "31", JUDGE: "35"}, variable="mood")
    scale = make_frame(facts, {}).variables["mood"].scale
    assert [c for c, own in zip(scale.categories, scale.own(), strict=True) if own] == ["1", "3"]
    assert scale.level == "nominal"


def test_what_judges_alone_answered_is_a_category_but_not_the_peoples() -> None:
    labels = make_frame(table({"Ada": "31", JUDGE: "35"}, variable="mood"), {}).variables["mood"]
    assert labels.scale.categories == ("1", "3", "5")
    assert labels.scale.foreign == {"5"}
    assert labels.aside(JUDGE, is_missing=False) == {}


def test_the_order_of_the_labels_does_not_matter_to_queries() -> None:
    facts = table({"Ada": "ynyn"})
    numbers = [
        dict(zip(labels.units.names, labels.units.query.tolist(), strict=True))
        for labels in (frame_of(f).variables["answerable"] for f in (facts, facts[::-1]))
    ]
    assert numbers[0] == numbers[1]


def test_only_finite_numbers_are_numbers() -> None:
    facts = [fact("r", f"q{n}", "Ada", value, "grade") for n, value in enumerate(["2", "inf"])]
    scale = make_frame(facts, {}).variables["grade"].scale
    assert scale.values().tolist() == [0, 1]


def test_numbers_are_in_numeric_order() -> None:
    facts = [fact("r", f"q{n}", "Ada", value, "grade") for n, value in enumerate(["10", "9", "2"])]
    assert make_frame(facts, {}).variables["grade"].scale.categories == ("2", "9", "10")


def test_an_excluded_rater_is_listed_and_counts_in_nothing() -> None:
    frame = make_frame(table({"Ada": "yn", "Bram": "yy"}), {}, {"Bram": "answered at random"})
    assert [(r.name, r.excluded) for r in frame.raters] == [
        ("Ada", None),
        ("Bram", "answered at random"),
    ]
    assert frame.variables["answerable"].columns("human") == [0]


def test_a_scale_of_words_is_valued_by_rank_and_of_numbers_by_number() -> None:
    assert Scale(("low", "high"), "ordinal").values().tolist() == [0, 1]
    assert Scale(("1", "2", "4"), "interval").values().tolist() == [1, 2, 4]


def test_a_part_of_the_units_keeps_its_own_escapes() -> None:
    labels = frame_of(table({"Ada": "y?n?"})).variables["answerable"]
    assert labels.only(np.array([0, 1])).escapes == {"invalid": 1}
