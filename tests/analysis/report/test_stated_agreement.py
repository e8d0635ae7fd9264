"""Agreement on a variable is stated in one coefficient: in verdict, tiles, figures and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.document import Number, Table
from tandem.figures import FIGURES, subjects
from tandem.figures.raters import places
from tandem.labels.facts import Scale
from tandem.labels.selection import ReportOptions
from tandem.sections.base import coefficient_of, people_of
from tandem.sections.brief import brief_of
from tandem.sections.build import frame_report
from tandem.sections.contents import document
from tandem.statistics import cohen_kappa, confusion
from tandem.types import JSON
from tests.analysis.cast import JUDGE, RATING, YES_NO, frame_of, table

HEAD: JSON = {"campaign": "c", "protocol": "p", "batch": "b", "hints": []}
RANDOM = np.random.default_rng(5)


def ratings(noise: int) -> str:
    """Forty ratings near the same ones: the further, the more noise."""
    near = np.tile([0, 1, 2, 3, 4, 5, 3, 1], 5) + RANDOM.integers(-noise, noise + 1, 40)
    return "".join(str(n) for n in near.clip(0, 5))


COLUMNS = {"ada": ratings(1), "bram": ratings(1), "chidi": ratings(1), JUDGE: ratings(2),
           "other": ratings(1)}  # fmt: skip


def report_of(columns: dict[str, str], variable: str, scale: Scale, **more: Any) -> JSON:
    facts = table(columns, variable, **more)
    judges = [
        each._replace(rater_kind="judge") if each.rater == "other" else each for each in facts
    ]
    frame = frame_of(judges, **{variable: scale})
    return frame_report(HEAD, frame, ReportOptions(resamples=200), [variable], None, check=False)


def weighted(one: str, other: str) -> float:
    first, second = (np.array([int(code) for code in column]) for column in (one, other))
    return float(cohen_kappa(confusion(first, second, 6), "quadratic"))


@pytest.fixture(scope="module")
def ordered() -> JSON:
    return report_of(COLUMNS, "rating", RATING, system="s")


def tables(report: JSON, start: str) -> list[Table]:
    return [t for _, _, t in document(report).tables() if t.caption.startswith(start)]


def test_on_an_ordered_scale_people_and_judges_have_the_same_weighted_kappa(ordered: JSON) -> None:
    block = ordered["variables"]["rating"]
    people = [COLUMNS[name] for name in ("ada", "bram", "chidi")]
    among = np.mean([weighted(people[a], people[b]) for a, b in ((0, 1), (0, 2), (1, 2))])
    own = np.mean([weighted(each, COLUMNS[JUDGE]) for each in people])
    assert block["coefficient"] == "cohen_kappa_quadratic"
    verdict = ordered["verdict"]["variables"]["rating"]
    assert f": weighted κ {among:.2f} [" in verdict["people"]["text"]
    text = verdict["judges"][JUDGE]["agreement"]["text"]
    assert f"weighted κ with each person {own:.2f} [" in text
    assert f", people {among:.2f}; gap {own - among:.2f} [".replace("-", "−") in text
    assert "weighted κ" in verdict["among_judges"]["agreement"]["text"]
    for sentence in (verdict["people"], *verdict["judges"][JUDGE].values()):
        assert "α" not in sentence["text"]

    (brief,) = brief_of(ordered)["variables"]
    (judge, _) = brief["judges"]
    assert (brief["sign"], judge["sign"]) == ("weighted κ", "weighted κ")
    assert brief["value"]["value"] == pytest.approx(among)
    assert (judge["value"]["value"], judge["people"]["value"]) == pytest.approx((own, among))
    assert judge["gap"]["value"] == pytest.approx(own - among)


def test_figures_and_tables_of_the_variable_have_the_same_numbers(ordered: JSON) -> None:
    among = ordered["variables"]["rating"]["agreement"]["mean_of_pairs"]["cohen_kappa_quadratic"]
    own = ordered["variables"]["rating"]["judges"][JUDGE]["with_people"]["cohen_kappa_quadratic"]
    (subject,) = subjects(ordered, FIGURES["raters"])
    assert {p.name: p.kappa.value for p in places(subject)}[JUDGE] == own["value"]
    assert "mean weighted Cohen's kappa" in FIGURES["raters"].draw(subject).title
    drawn = FIGURES["raters"].data(subject)
    assert drawn.header[1] == "Cohen's kappa, quadratic weights"
    assert drawn.rows[0][1] == Number.from_estimate(among)
    (side,) = tables(ordered, "Cohen's kappa, quadratic weights")[:1]
    assert side.rows[0][3:5] == (Number.from_estimate(own), Number.from_estimate(among))
    (slices,) = tables(ordered, "Cohen's kappa, quadratic weights; judges with each")
    assert slices.rows[0][2:4] == (Number.from_estimate(among), Number.from_estimate(own))


def test_categories_without_an_order_have_no_weights() -> None:
    columns = {"ada": "ynynyynn" * 5, "bram": "ynyyyynn" * 5, JUDGE: "ynynynnn" * 5}
    report = report_of(columns, "answerable", YES_NO)
    block = report["variables"]["answerable"]
    assert block["coefficient"] == "cohen_kappa"
    assert "cohen_kappa_quadratic" not in block["judges"][JUDGE]["gap"]
    shown, found, _ = people_of(block)
    assert (shown.sign, found) == ("κ", block["judges"][JUDGE]["human_ceiling"]["cohen_kappa"])


def test_labels_that_do_not_vary_leave_the_share_of_equal_labels_to_judges() -> None:
    columns = {"ada": "y" * 40, "bram": "y" * 40, JUDGE: "y" * 40}
    block = report_of(columns, "answerable", YES_NO)["variables"]["answerable"]
    assert coefficient_of(block).sign == "equal labels"
    assert people_of(block)[1]["value"] is None


def test_people_who_share_few_units_have_fleiss_kappa_by_its_name() -> None:
    """Thirty-one people: no two of them share thirty units, and a judge has no gap either."""
    columns = {f"p{n:02}": "." * n + ("yn" if n % 3 else "yy") + "." * (38 - n) for n in range(31)}
    block = report_of({**columns, JUDGE: "yn" * 20}, "answerable", YES_NO)["variables"][
        "answerable"
    ]
    shown, found, path = people_of(block)
    assert (shown.sign, path) == ("Fleiss’ κ", ("agreement", "fleiss_kappa"))
    assert found["value"] is not None
    assert block["judges"][JUDGE]["gap"]["cohen_kappa"]["value"] is None


def test_a_snapshot_of_an_older_report_is_read_as_it_was_written(ordered: JSON) -> None:
    block = dict(ordered["variables"]["rating"])
    del block["coefficient"]
    block["agreement"] = {k: v for k, v in block["agreement"].items() if k != "mean_of_pairs"}
    assert coefficient_of(block).key == "cohen_kappa"
    assert people_of(block)[0].sign == "α"
