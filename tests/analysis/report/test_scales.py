"""Distances between categories follow one convention, which the report names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

import tandem
from tandem.crosscheck import process
from tandem.labels.facts import Scale
from tandem.labels.frame import make_frame
from tandem.sections.agreement import agreement
from tandem.sections.distribution import scale_used, scales
from tandem.sections.judges import judges
from tandem.sections.methods import methods
from tandem.statistics import Level
from tests.analysis.cast import JUDGE, fact, sample_of

JSON = dict[str, Any]
TABLE = ((29, 13, 5), (1, 44, 0), (3, 4, 22))
"""Ratings 1, 4 and 5 by two raters. By position, their weighted kappas are .651 and .627."""
LINEAR, QUADRATIC = 0.622, 0.599
RATINGS = [
    (one, other)
    for row, one in zip(TABLE, "145", strict=True)
    for number, other in zip(row, "145", strict=True)
    for _ in range(number)
]
WORDS = dict(zip("12345", ("never", "rarely", "sometimes", "often", "always"), strict=True))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> JSON:
    """The report on these ratings by Ada and Bram, and on a judge that copies Bram."""
    lines = ["item,unit,variable,rater,rater_kind,value"]
    for n, (one, other) in enumerate(RATINGS):
        for rater, kind, value in (
            ("Ada", "human", one),
            ("Bram", "human", other),
            ("J", "judge", other),
        ):
            lines.append(f"i{n},u,rating,{rater},{kind},{value}")
    path = tmp_path_factory.mktemp("scales") / "labels.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "IS_ON", True)
        made: JSON = tandem.report(path, levels={"rating": "ordinal"}, resamples=20).json
    return made


def weighted(block: JSON) -> tuple[float, float]:
    linear, quadratic = (block[f"cohen_kappa_{name}"]["value"] for name in ("linear", "quadratic"))
    return round(linear, 3), round(quadratic, 3)


def test_weighted_kappas_of_ratings_are_those_of_the_numbers(found: JSON) -> None:
    (pair,) = found["variables"]["rating"]["agreement"]["pairs"]
    assert weighted(pair) == (LINEAR, QUADRATIC)


def test_a_library_gives_the_same_kappas_with_the_same_weights(found: JSON) -> None:
    assert found["check"]["differs"] == []
    table = np.zeros((5, 5))
    for one, other in RATINGS:
        table[int(one) - 1, int(other) - 1] += 1
    theirs = cohens_kappa(table, wt="quadratic", return_results=False)
    (pair,) = found["variables"]["rating"]["agreement"]["pairs"]
    assert pair["cohen_kappa_quadratic"]["value"] == pytest.approx(theirs)


def test_the_methods_name_the_convention(found: JSON) -> None:
    assert found["variables"]["rating"]["scale"] == {
        "declared": False,
        "distances": "numbers",
        "unused": [],
    }
    assert (
        "The distances between categories in weighted kappas, Gwet's AC2, interval alpha and "
        "errors of rating are differences of their numbers; no scale is declared, so the values "
        "that occur are it." in " ".join(methods(found))
    )


def of_scale(scale: Scale, spell: dict[str, str] | None = None, extra: str = "") -> JSON:
    """People's and a judge's ratings on a scale; `extra` is one more label of the judge."""
    facts = []
    for n, ratings in enumerate(RATINGS):
        one, other = (spell[each] if spell else each for each in ratings)
        facts.append(fact(f"i{n}", "u", "Ada", one, "stars"))
        facts.append(fact(f"i{n}", "u", JUDGE, other, "stars"))
        facts.append(fact(f"i{n}", "u", "Bram", other, "stars"))
    if extra:
        facts.append(fact("more", "u", JUDGE, extra, "stars"))
    sample = sample_of(make_frame(facts, {"stars": scale}), "stars", 20)
    judge = judges(sample, 0.2)[JUDGE]
    return {
        "pair": agreement(sample)["pairs"][0],
        "judge": judge["agreement"],
        "scale": scale_used(sample.frame),
    }


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_a_declared_scale_gives_the_same_and_names_its_unused_categories(level: Level) -> None:
    found = of_scale(Scale(tuple("12345"), level))
    assert weighted(found["pair"]) == (LINEAR, QUADRATIC)
    expected = {"declared": True, "distances": "numbers", "unused": ["2", "3"]}
    assert found["scale"] == expected
    variables = {"stars": {"scale": found["scale"], "agreement": found["pair"]}}
    assert scales({"variables": variables}).endswith(
        "are differences of their numbers on the declared scale. Nobody used 2 and 3 of stars. "
        "Such categories count in Randolph's kappa and in Gwet's coefficients."
    )


def test_words_of_a_declared_scale_have_their_ranks_on_it() -> None:
    found = of_scale(Scale(tuple(WORDS.values()), "ordinal"), WORDS)
    assert weighted(found["pair"]) == (LINEAR, QUADRATIC)
    assert found["scale"]["distances"] == "ranks"
    assert found["scale"]["unused"] == ["rarely", "sometimes"]


def test_words_without_a_declared_scale_have_their_ranks_among_those_that_occur() -> None:
    spell = {"1": "a", "4": "b", "5": "c"}
    found = of_scale(Scale((), "ordinal"), spell)
    assert weighted(found["pair"]) == (0.651, 0.627)
    assert found["scale"] == {"declared": False, "distances": "ranks", "unused": []}


def test_categories_without_an_order_have_no_distances() -> None:
    found = of_scale(Scale((), "nominal"))
    assert found["pair"]["cohen_kappa_quadratic"]["value"] is None
    assert found["scale"]["distances"] is None


def test_a_word_that_only_a_judge_gave_does_not_turn_numbers_into_ranks() -> None:
    plain, beside = (
        of_scale(Scale((), "ordinal"), extra=extra) for extra in ("", "no rating given")
    )
    assert weighted(beside["judge"]) == weighted(plain["judge"])
    assert beside["scale"]["distances"] == "numbers"
    assert Scale(("1", "4", "5", "?"), "ordinal", (), frozenset("?")).values().tolist() == [
        1,
        4,
        5,
        6,
    ]


def test_a_judge_is_compared_with_people_by_the_same_weights() -> None:
    # Ada's and Bram's labels tie wherever they differ, so the judge is compared with Ada alone.
    facts = [
        fact(f"i{n}", "u", rater, value, "stars")
        for n, ratings in enumerate(RATINGS)
        for rater, value in zip(("Ada", JUDGE), ratings, strict=True)
    ]
    sample = sample_of(make_frame(facts, {"stars": Scale((), "ordinal")}), "stars", 20)
    assert weighted(judges(sample, 0.2)[JUDGE]["agreement"]) == (LINEAR, QUADRATIC)
