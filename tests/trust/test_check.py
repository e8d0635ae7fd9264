"""A look at labels that exist says no more than the way allows in which they were drawn."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from tandem.labels.people_sample import PeopleSample
from tandem.statistics import Bools, Floats, Ints
from tandem.trust.cells import Cells, people_of, sureness
from tandem.trust.check import (
    EXACT,
    NO_OTHERS,
    TOO_FEW,
    UNKNOWN_DRAW,
    Accepted,
    Check,
    Committed,
    Draw,
    check,
    hashed_order,
)
from tandem.trust.draws import even_order
from tandem.trust.evidence import evidence_by_size, risk_bound
from tandem.trust.state import state_of
from tests.analysis.cast import JUDGE, fact, frame_of, table
from tests.trust.populations import population
from tests.trust.reference import reference

EVEN, ALL = Draw("even"), Draw("all")


def cells(size: Ints, wrong: Ints, labelled: Bools) -> Cells:
    """Queries q000, q001, … of these sizes, of which the first `wrong` cells are wrong."""
    query = np.repeat(np.arange(len(size)), size)
    place = np.concatenate([np.arange(n) for n in size])
    return Cells(
        tuple(f"q{n:03}" for n in range(len(size))),
        query,
        np.ones(len(query)),
        place < wrong[query],
        labelled[query],
        (None,) * len(query),
    )


def of_all(found: Check) -> Accepted:
    return found.cuts[-1].whole


def look(of: Cells, draw: Draw, **more: float) -> Check:
    return check(of, draw, "answerable", JUDGE, more.get("delta", 0.05))


class TestEvenlyDrawn:
    @pytest.mark.parametrize("seed", range(6))
    def test_the_bound_is_that_of_the_reference_in_hashed_order(self, seed: int) -> None:
        random, theirs = np.random.default_rng(seed), reference()
        size = random.integers(1, 20, 120)
        wrong = random.binomial(size, 0.08)
        labelled = np.isin(np.arange(120), even_order(120, str(seed))[:60])
        found = of_all(look(cells(size, wrong, labelled), EVEN))
        keys = [f"q{n:03}" for n in range(120)]
        order = sorted(np.flatnonzero(labelled), key=lambda n: sha256(keys[n].encode()).digest())
        drawn = np.array(order)

        def evidence(risk: float) -> Floats:
            return theirs.evidence_even(
                size[drawn].astype(float), wrong[drawn], risk, size.sum(), 120, size.max()
            )

        assert found.bound.value == pytest.approx(theirs.upper_bound(evidence, 0.05), abs=1e-9)
        assert (found.labelled, found.wrong) == (size[drawn].sum(), wrong[drawn].sum())
        assert found.risk.value == pytest.approx(wrong[drawn].sum() / size[drawn].sum())

    def test_the_order_depends_on_nothing_but_the_keys(self) -> None:
        keys = ("b", "a", "c")
        digests = [sha256(key.encode()).hexdigest() for key in keys]
        assert [digests[n] for n in hashed_order(keys)] == sorted(digests)

    def test_cells_without_a_label_in_labelled_queries_count_as_wrong(self) -> None:
        size, wrong, labelled = np.full(80, 4), np.zeros(80, int), np.arange(80) < 60
        whole = cells(size, wrong, labelled)
        part = Cells(*(getattr(whole, name) for name in whole.__dataclass_fields__))
        part.labelled[whole.query < 6] = np.arange(24) % 4 > 0
        without = of_all(look(cells(size, wrong, labelled), EVEN))
        found = of_all(look(part, EVEN))
        assert (found.outstanding, found.wrong, found.risk.value) == (6, 0, 0.0)
        assert (found.bound.value or 0) > (without.bound.value or 0) > 0

    def test_what_is_counted_is_a_bound_too(self) -> None:
        # 99 of 100 queries with one cell each are labelled, and 2 are wrong: at most 3 of 100.
        labelled, wrong = np.arange(100) < 99, (np.arange(100) < 2).astype(int)
        found = of_all(look(cells(np.ones(100, int), wrong, labelled), EVEN))
        assert found.bound.value == pytest.approx(0.03)

    def test_a_file_without_the_other_queries_has_no_bound(self) -> None:
        found = of_all(look(cells(np.full(40, 3), np.zeros(40, int), np.ones(40, bool)), EVEN))
        assert (found.bound.value, found.bound.reason) == (None, NO_OTHERS)

    def test_a_few_labels_have_no_bound_below_1(self) -> None:
        found = of_all(look(cells(np.ones(100, int), np.ones(100, int), np.arange(100) < 3), EVEN))
        assert (found.bound.value, found.bound.reason) == (None, TOO_FEW)

    def test_a_higher_confidence_gives_a_higher_bound(self) -> None:
        of = cells(np.full(100, 3), (np.arange(100) % 9 == 0).astype(int), np.arange(100) < 50)
        low, high = (of_all(look(of, EVEN, delta=delta)).bound.value for delta in (0.01, 0.2))
        assert low is not None
        assert high is not None
        assert low > high

    def test_an_unfinished_sample_has_figures_and_no_bound(self) -> None:
        of = cells(np.full(50, 3), np.zeros(50, int), np.arange(50) < 20)
        drawn = frozenset(f"q{n:03}" for n in range(25))
        sample = PeopleSample(drawn, frozenset(f"q{n:03}" for n in range(20, 25)))
        found = look(of, Draw("even", sample))
        assert (found.labelled, of_all(found).labelled) == (20, 60)
        why = "people have not finished 5 of the 25 queries that were sampled for them"
        assert of_all(found).bound.reason == why

    def test_labels_of_queries_that_were_not_sampled_do_not_count(self) -> None:
        of = cells(np.full(50, 3), np.zeros(50, int), np.arange(50) < 30)
        drawn = PeopleSample(frozenset(f"q{n:03}" for n in range(20)))
        assert look(of, Draw("even", drawn)).labelled == 20

    def test_a_query_that_everybody_declined_is_wholly_wrong(self) -> None:
        of = cells(np.full(50, 3), np.zeros(50, int), np.arange(50) < 29)
        drawn = PeopleSample(frozenset(f"q{n:03}" for n in range(30)))
        found = look(of, Draw("even", drawn))
        assert (found.labelled, of_all(found).outstanding) == (30, 3)

    def test_a_judge_that_was_not_asked_everything_has_no_bound(self) -> None:
        of = cells(np.full(50, 3), np.zeros(50, int), np.arange(50) < 30)
        why = "the judge has answered 50 of 80 items so far"
        found = of_all(look(of, Draw("even", unjudged={JUDGE: why})))
        assert (found.bound.value, found.bound.reason) == (None, why)

    def test_systems_share_the_confidence(self) -> None:
        of = cells(np.full(80, 4), (np.arange(80) % 8 == 0).astype(int), np.arange(80) < 50)
        named = tuple("ab"[n % 2] for n in range(320))
        of = Cells(of.keys, of.query, of.sure, of.wrong, of.labelled, named)
        systems = look(of, EVEN).cuts[-1].systems
        assert list(systems) == ["a", "b"]
        # The first cell of a query, which is the wrong one, is always of system a.
        assert (systems["a"].wrong, systems["b"].wrong) == (7, 0)
        assert all("confidence 0.975" in each.bound.method for each in systems.values())
        only_a = np.arange(320) % 2 == 0
        alone = Cells(
            of.keys, of.query[only_a], of.sure[only_a], of.wrong[only_a], of.labelled[only_a],
            ("a",) * 160,
        )  # fmt: skip
        assert systems["a"].bound.value == of_all(look(alone, EVEN, delta=0.025)).bound.value


class TestAllLabelled:
    def test_the_risk_is_exact_and_has_no_bound(self) -> None:
        found = of_all(look(cells(np.full(20, 5), np.ones(20, int), np.ones(20, bool)), ALL))
        assert (found.risk.value, found.bound.value, found.bound.reason) == (0.2, None, EXACT)

    def test_a_file_that_has_queries_without_labels_is_contradicted(self) -> None:
        found = of_all(look(cells(np.full(20, 5), np.ones(20, int), np.arange(20) < 12), ALL))
        assert found.bound.reason == "8 of 20 queries have no label from people"

    def test_a_cell_without_a_label_is_named(self) -> None:
        of = cells(np.full(20, 5), np.ones(20, int), np.ones(20, bool))
        of.labelled[[3, 4]] = False
        found = of_all(look(of, ALL))
        assert found.bound.reason == f"{EXACT}, but for a label of 2 of these units"


def test_an_unknown_draw_has_figures_and_no_bound() -> None:
    of = cells(np.full(20, 5), np.ones(20, int), np.arange(20) < 12)
    found = of_all(look(of, Draw("unknown")))
    assert (found.risk.value, found.bound.value, found.bound.reason) == (0.2, None, UNKNOWN_DRAW)


class TestDrawnBySize:
    def committed(self, seed: int, number: int, risk: float = 0.3) -> tuple[Cells, Committed, Ints]:
        """A population of scored cells, its plan, and its wrong cells by query and cut."""
        made = population(np.random.default_rng(seed), 60, risk=risk, seed=str(seed))
        plan = made.plan
        steps = np.diff(plan.accepted, axis=1, prepend=0)
        rest = (plan.cells - plan.accepted[:, -1])[:, None]
        counts = np.concatenate([steps, rest], axis=1)
        wrong = np.diff(made.wrong, axis=1, prepend=0)
        query, sure, is_wrong = [], [], []
        for q, row in enumerate(counts):
            for j, count in enumerate(row):
                bad = wrong[q, j] if j < wrong.shape[1] else 0
                query += [q] * int(count)
                sure += [1 - 0.1 * j] * int(count)
                is_wrong += [n < bad for n in range(int(count))]
        labelled: list[tuple[int, Ints]] = []
        while len(labelled) < number and (order := state_of(plan, labelled).to_draw()):
            labelled.append((order[0], made.wrong[order[0]]))
        keys = tuple(f"q{n:03}" for n in range(60))
        drawn = tuple(keys[q] for q, _ in labelled)
        named = np.isin(query, [q for q, _ in labelled])
        thresholds = tuple(1 - 0.1 * j for j in range(plan.cuts))
        return (
            Cells(keys, np.array(query), np.array(sure), np.array(is_wrong), named,
                  tuple("ab"[n % 2] for n in range(len(query)))),
            Committed(keys, thresholds, plan.seed, plan.risk, plan.delta, drawn),
            made.wrong,
        )  # fmt: skip

    @pytest.mark.parametrize("seed", range(3))
    def test_the_bound_of_each_cut_is_that_of_the_plan(self, seed: int) -> None:
        of, committed, wrong = self.committed(seed, 40)
        draw = Draw("all", plans={("answerable", JUDGE): committed})
        found = check(of, draw, "answerable", JUDGE, 0.05)
        assert (found.kind, found.labelled) == ("by-size", len(committed.labelled))
        assert found.delta == pytest.approx(0.04)
        accepted = np.stack([of.by_query(of.sure >= t) for t in committed.thresholds], axis=1)
        state = state_of(
            population(np.random.default_rng(seed), 60, risk=0.3, seed=str(seed)).plan,
            [(int(key[1:]), wrong[int(key[1:])]) for key in committed.labelled],
        )
        for cut, of_cut in enumerate(found.cuts):
            seen = [int(key[1:]) for key in committed.labelled]
            left = accepted[:, cut].sum() - accepted[seen, cut].sum()
            counted = (wrong[seen, cut].sum() + left) / accepted[:, cut].sum()
            expected = min(state.bound(cut), counted)
            assert of_cut.whole.bound.value == (
                pytest.approx(expected, abs=1e-9) if expected < 1 else None
            )

    def test_the_errors_of_a_system_are_a_share_of_the_same_draws(self) -> None:
        # At this risk nothing is certified, so all draws are for the first cut.
        of, committed, _ = self.committed(1, 40, risk=0.02)
        draw = Draw("all", plans={("answerable", JUDGE): committed})
        cut = check(of, draw, "answerable", JUDGE, 0.05).cuts[0]
        mask = of.sure >= committed.thresholds[0]
        own = mask & (np.array(of.system) == "a")
        drawn = [int(key[1:]) for key in committed.labelled]
        size, part = of.by_query(mask)[drawn].astype(float), own.sum() / mask.sum()
        bad = of.by_query(own & of.wrong)[drawn].astype(float)

        def evidence(risk: float) -> Floats:
            return evidence_by_size(size, bad, risk * part, float(mask.sum()), largest=most)

        whole, of_part = of.by_query(mask), of.by_query(own)
        most = float((of_part[whole > 0] / whole[whole > 0]).max())
        assert cut.systems["a"].bound.value == pytest.approx(risk_bound(evidence, 0.02), abs=1e-9)

    def test_labels_in_another_order_have_no_bound(self) -> None:
        of, committed, _ = self.committed(2, 10)
        other = Committed(
            committed.queries, committed.thresholds, committed.seed, committed.risk,
            committed.level, committed.labelled[::-1],
        )  # fmt: skip
        draw = Draw("all", plans={("answerable", JUDGE): other})
        found = of_all(check(of, draw, "answerable", JUDGE, 0.05))
        assert found.bound.value is None
        assert "the labels are not those of the plan" in str(found.bound.reason)

    def test_another_judge_has_no_part_in_the_plan(self) -> None:
        of, committed, _ = self.committed(2, 10)
        draw = Draw("unknown", plans={("answerable", "another"): committed})
        assert check(of, draw, "answerable", JUDGE, 0.05).kind == "unknown"


@pytest.mark.parametrize("seed", range(2))
def test_evenly_drawn_labels_in_the_form_by_size_certify_falsely_and_ours_do_not(
    seed: int,
) -> None:
    """Errors sit in the largest queries, of which an even draw sees few cells.

    A tenth of the cells is wrong, which is the risk that is tested, so a form whose evidence
    reaches 1/δ in more than 5 % of studies is false. With 120 studies, 13 lie above the 99th
    percentile of a binomial of .05.
    """
    random, studies, delta, risk = np.random.default_rng(seed), 120, 0.05, 0.1
    false = {"by size": 0, "ours": 0}
    for study in range(studies):
        size = np.maximum(1, np.round(random.lognormal(np.log(8), 1.0, 100))).astype(int)
        wrong, left = np.zeros(100, int), int(np.ceil(risk * size.sum()))
        for largest in np.argsort(-size):
            wrong[largest] = min(left, size[largest])
            left -= wrong[largest]
        drawn = np.array(even_order(100, f"{seed} {study}")[:50])
        evidence = evidence_by_size(
            size[drawn].astype(float), wrong[drawn].astype(float), risk, float(size.sum())
        )
        false["by size"] += bool(evidence.max() >= np.log(1 / delta))
        found = of_all(look(cells(size, wrong, np.isin(np.arange(100), drawn)), EVEN))
        false["ours"] += found.bound.value is not None and found.bound.value < risk
    assert false["by size"] > 0.2 * studies
    assert false["ours"] < 13


class TestCellsOfAFrame:
    def test_a_tie_an_escape_and_no_answer_are_wrong(self) -> None:
        rows = {"Ada": "yyyy?.", "Bram": "yyny?.", "Chidi": "yny?y.", JUDGE: "yynyyy"}
        frame = frame_of(table(rows))
        of = frame.variables["answerable"]
        people = people_of(of)
        # The last but one has two escapes, and the last nobody's answer.
        assert people.codes[:4].tolist() == [0, 0, 0, 0]
        assert people.codes[4] >= people.categories
        column = next(n for n, rater in enumerate(of.raters) if rater.name == JUDGE)
        found = Cells.of(of, frame.items, column, people)
        assert found.wrong.tolist() == [False, False, True, False, True, True]
        assert found.labelled.tolist() == [True] * 5 + [False]
        assert found.keys == ("r0", "r1", "r2")

    def test_a_tie_decides_nothing(self) -> None:
        frame = frame_of(table({"Ada": "yn", "Bram": "ny", JUDGE: "yn"}))
        assert people_of(frame.variables["answerable"]).codes.tolist() == [-1, -1]

    def test_one_person_is_named_as_such(self) -> None:
        assert people_of(frame_of(table({"Ada": "yn"})).variables["answerable"]).truth == (
            "one person"
        )

    def test_a_decision_of_an_adjudicator_comes_first(self) -> None:
        frame = frame_of(table({"Ada": "yn", "Bram": "ny"})).variables["answerable"]
        decided = np.array([1, -1]), np.array([True, True])
        people = people_of(frame, decided)
        assert (people.truth, people.codes.tolist()) == ("adjudicated", [1, people.categories])
        assert people.floor.reason == "nobody knows how often adjudicators are wrong"

    def test_a_judge_is_as_sure_as_its_greater_probability(self) -> None:
        facts = [fact(f"r{n}", "q", JUDGE, "yes", score=p) for n, p in enumerate((0.9, 0.2, 0.5))]
        facts += [fact("r3", "q", JUDGE, None, missing="refused"), fact("r4", "q", JUDGE, "yes")]
        facts += table({"Ada": "yn"})
        of = frame_of(facts).variables["answerable"]
        column = next(n for n, rater in enumerate(of.raters) if rater.name == JUDGE)
        sure = zip(of.units.names, sureness(of, column), strict=True)
        found = {item: value for (item, _, unit), value in sure if unit == "q"}
        assert found["r0"] == 0.9
        assert found["r1"] == 0.8
        assert found["r2"] == 0.5
        assert np.isnan(found["r3"])
        assert found["r4"] == 1.0

    def test_without_probabilities_there_is_one_cut_of_all_that_it_answered(self) -> None:
        frame = frame_of(table({"Ada": "ynynyn", JUDGE: "ynyny."}))
        of = frame.variables["answerable"]
        column = next(n for n, rater in enumerate(of.raters) if rater.name == JUDGE)
        found = look(Cells.of(of, frame.items, column, people_of(of)), ALL)
        assert [cut.share for cut in found.cuts] == [pytest.approx(5 / 6)]
        assert (of_all(found).cells, of_all(found).wrong) == (5, 0)
