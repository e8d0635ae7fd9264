"""Label distributions and comparisons of systems match tables worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.sections.distribution import distribution
from tandem.sections.systems import scores
from tests.analysis.cast import JUDGE, fact, frame_of, table


def spread(rows: dict[str, str]) -> Any:
    return distribution(frame_of(table(rows)).variables["answerable"])


def test_each_rater_has_counts_by_category_and_judges_come_last() -> None:
    found = spread({JUDGE: "nnnn", "Ada": "yyn?", "Bram": "yn.."})
    assert list(found["counts"]) == ["Ada", "Bram", JUDGE]
    assert found["counts"]["Ada"] == {"yes": 2, "no": 1}
    assert found["counts"][JUDGE] == {"yes": 0, "no": 4}


def test_units_are_counted_by_how_many_people_labelled_them() -> None:
    # Of four units two have labels of both people, one of Ada alone, and one only an escape.
    found = spread({"Ada": "yyn?", "Bram": "yn..", JUDGE: "yyyy"})
    assert found["labels_per_unit"] == {"0": 1, "1": 1, "2": 2}
    assert found["unanimous"] == 1


def covered(rows: dict[str, dict[str, tuple[int, int]]]) -> Any:
    """Coverage from the number of answered questions of two: system -> query -> (Ada, Bram)."""
    facts = [
        fact(
            f"{system}/{query}",
            f"{query}/{n}",
            rater,
            "yes" if n < yes else "no",
            query=query,
            system=system,
        )
        for system, queries in rows.items()
        for query, answered in queries.items()
        for rater, yes in zip(("Ada", "Bram"), answered, strict=True)
        for n in range(2)
    ]
    return scores(frame_of(facts), 20, 0, None)["coverage"]


def test_two_systems_are_compared_on_queries_that_both_answered() -> None:
    # Means of people: a 1, 3/4, 1/2, 1 and b 1/2, 1/2, 1/2 on q0 to q2: differences 1/2, 1/4, 0.
    a = {"q0": (2, 2), "q1": (2, 1), "q2": (1, 1), "q3": (2, 2)}
    found = covered({"a": a, "b": {"q0": (1, 1), "q1": (1, 1), "q2": (1, 1)}})
    (pair,) = found["comparisons"]
    assert (pair["a"], pair["b"], pair["queries"]) == ("a", "b", 3)
    assert pair["difference"]["value"] == pytest.approx(1 / 4)
    assert (pair["higher"], pair["lower"]) == (2, 0)
    # t = 1/4 / (1/4 / sqrt 3) = sqrt 3 on 2 df: p = 1 - sqrt(3 / 5).
    assert pair["paired_t"]["p_value"] == pytest.approx(1 - (3 / 5) ** 0.5)
    # Without the zero, two ranks have four combinations of signs; 2 are as extreme, two-sided.
    assert pair["wilcoxon"]["p_value"] == pytest.approx(1 / 2)


def test_p_values_of_three_systems_are_corrected_for_three_comparisons() -> None:
    a, b = {f"q{n}": (2, 2) for n in range(6)}, {f"q{n}": (n % 2, 1) for n in range(6)}
    found = covered({"a": a, "b": b, "c": {f"q{n}": (0, n // 4) for n in range(6)}})
    p_values = sorted(pair["paired_t"]["p_value"] for pair in found["comparisons"])
    adjusted = sorted(pair["paired_t"]["adjusted_p_value"] for pair in found["comparisons"])
    assert adjusted[0] == pytest.approx(3 * p_values[0])


def test_systems_without_a_shared_query_have_no_test_and_a_reason() -> None:
    (pair,) = covered({"a": {"q0": (1, 1)}, "b": {"q1": (1, 1)}})["comparisons"]
    assert pair["queries"] == 0
    assert pair["paired_t"]["p_value"] is pair["wilcoxon"]["adjusted_p_value"] is None
    assert pair["paired_t"]["reason"] == "fewer than two queries"


def test_the_majority_s_score_is_that_of_its_labels() -> None:
    rows = {"Ada": "yynn", "Bram": "ynnn", "Chidi": "nyyn"}
    found = scores(frame_of(table(rows, system="a")), 20, 0, None)["coverage"]
    # Majorities y, y, n, n: the first report 1, the second 0.
    assert found["majority"]["a"]["value"] == pytest.approx(1 / 2)
    assert found["systems"]["a"]["mean"]["value"] == pytest.approx((2 / 3 + 1 / 6) / 2)
