"""A frame holds labels as columns."""

from __future__ import annotations

import numpy as np

from tandem.labels.facts import Scale
from tandem.labels.frame import make_frame
from tests.analysis.cast import JUDGE, fact, frame_of, table


def test_each_unit_is_a_row_and_each_rater_a_column() -> None:
    labels = frame_of(table({"Ada": "yn", "Bram": "yy"})).variables["answerable"]
    assert [r.name for r in labels.raters] == ["Ada", "Bram"]
    assert labels.codes.tolist() == [[0, 0], [1, 0]]


def test_a_unit_that_a_rater_did_not_label_has_no_code() -> None:
    labels = frame_of(table({"Ada": "yn", "Bram": "y."})).variables["answerable"]
    assert labels.codes.tolist() == [[0, 0], [1, -1]]


def test_an_escape_is_counted_but_is_not_a_category() -> None:
    labels = frame_of(table({"Ada": "y?", "Bram": "??"})).variables["answerable"]
    assert labels.codes.tolist() == [[0, -1], [-1, -1]]
    assert labels.escapes == {"invalid": 3}


def test_an_unused_escape_is_listed_with_zero() -> None:
    assert frame_of(table({"Ada": "yn"})).variables["answerable"].escapes == {"invalid": 0}


def test_a_judges_escapes_are_not_counted_among_people() -> None:
    labels = frame_of(table({"Ada": "yn", JUDGE: "?y"})).variables["answerable"]
    assert labels.escapes == {"invalid": 0}
    assert labels.aside(JUDGE, is_missing=False) == {"invalid": 1}


def test_a_missing_judgement_is_not_a_label_but_keeps_its_reason() -> None:
    lost = fact("r0", "q0", JUDGE, None, missing="unreadable")
    frame = frame_of([*table({"Ada": "yn"}), lost])
    labels = frame.variables["answerable"]
    assert labels.codes[:, 1].tolist() == [-1, -1]
    assert labels.aside(JUDGE, is_missing=True) == {"unreadable": 1}
    assert {r.name: r.labels for r in frame.raters} == {"Ada": 2, JUDGE: 0}


def test_assisted_labels_are_left_out_and_counted() -> None:
    frame = frame_of([*table({"Ada": "yn"}), *table({"Dana": "yy"}, assisted_by=JUDGE)])
    assert [r.name for r in frame.raters] == ["Ada"]
    assert len(frame.assisted) == 2


def test_a_repeated_judgement_does_not_become_another_rater() -> None:
    again = fact("r0", "q0", JUDGE, "no", replicate=1)
    first = fact("r0", "q0", JUDGE, "yes", replicate=0)
    for facts in ([first, again], [again, first]):
        assert frame_of(facts).variables["answerable"].codes.tolist() == [[0]]


def test_repeated_judgements_that_are_missing_count_once() -> None:
    none = [fact("r0", "q0", JUDGE, None, missing="refused", replicate=n) for n in range(3)]
    labels = frame_of(none).variables["answerable"]
    assert labels.aside(JUDGE, is_missing=True) == {"refused": 1}


def test_a_failed_first_judgement_is_not_replaced_by_a_later_one() -> None:
    failed = fact("r0", "q0", JUDGE, None, missing="timeout", replicate=0)
    again = fact("r0", "q0", JUDGE, "yes", replicate=1)
    for facts in ([failed, again], [again, failed]):
        labels = frame_of(facts).variables["answerable"]
        assert labels.codes.tolist() == [[-1]]
        assert labels.aside(JUDGE, is_missing=True) == {"timeout": 1}


def test_units_of_two_kinds_with_the_same_key_are_separate() -> None:
    facts = [fact("r", "r#1", "Ada", "yes", kind=kind) for kind in ("report", "sentence")]
    assert len(frame_of(facts).variables["answerable"].codes) == 2


def test_the_categories_of_a_labels_file_are_those_that_people_used() -> None:
    facts = table({"Ada": "31", JUDGE: "35"}, variable="mood")
    scale = make_frame(facts, {}).variables["mood"].scale
    assert [c for c, own in zip(scale.categories, scale.own(), strict=True) if own] == ["1", "3"]
    assert scale.level == "nominal"


def test_a_value_used_by_judges_only_is_a_foreign_category() -> None:
    labels = make_frame(table({"Ada": "31", JUDGE: "35"}, variable="mood"), {}).variables["mood"]
    assert labels.scale.categories == ("1", "3", "5")
    assert labels.scale.foreign == {"5"}
    assert labels.aside(JUDGE, is_missing=False) == {}


def test_the_order_of_labels_does_not_change_the_numbering_of_queries() -> None:
    facts = table({"Ada": "ynyn"})
    numbers = [
        dict(zip(labels.units.names, labels.units.query.tolist(), strict=True))
        for labels in (frame_of(f).variables["answerable"] for f in (facts, facts[::-1]))
    ]
    assert numbers[0] == numbers[1]


def test_infinite_values_are_not_read_as_numbers() -> None:
    facts = [fact("r", f"q{n}", "Ada", value, "grade") for n, value in enumerate(["2", "inf"])]
    scale = make_frame(facts, {}).variables["grade"].scale
    assert scale.values().tolist() == [0, 1]


def test_numeric_categories_are_sorted_by_number() -> None:
    facts = [fact("r", f"q{n}", "Ada", value, "grade") for n, value in enumerate(["10", "9", "2"])]
    assert make_frame(facts, {}).variables["grade"].scale.categories == ("2", "9", "10")


def test_an_excluded_rater_is_listed_but_does_not_count() -> None:
    frame = make_frame(table({"Ada": "yn", "Bram": "yy"}), {}, {"Bram": "answered at random"})
    assert [(r.name, r.excluded) for r in frame.raters] == [
        ("Ada", None),
        ("Bram", "answered at random"),
    ]
    assert frame.variables["answerable"].columns("human") == [0]


def test_categories_in_words_have_their_rank_as_value_and_numbers_themselves() -> None:
    assert Scale(("low", "high"), "ordinal").values().tolist() == [0, 1]
    assert Scale(("1", "2", "4"), "interval").values().tolist() == [1, 2, 4]


def test_a_subset_of_the_units_counts_its_own_escapes() -> None:
    labels = frame_of(table({"Ada": "y?n?"})).variables["answerable"]
    assert labels.only(np.array([0, 1])).escapes == {"invalid": 1}
