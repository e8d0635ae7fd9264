"""Rules applied to given units, without a database: the result of each for the decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from annotation.derivation.base import Job, Work, make_options, read_options
from annotation.derivation.decisions import NOBODY, TIE, Decider, Decision, Undecided, check_decided
from annotation.derivation.labels import LabelledUnit, LabelReader, UnitReader
from annotation.derivation.rules import RULES
from annotation.derivation.rules.answerable_questions import CellWork, context_of
from annotation.derivation.rules.judged_passages import JudgedPassages
from annotation.derivation.rules.passages_as_system import gold
from annotation.derivation.rules.sampled_contexts import SampledContexts
from annotation.derivation.rules.typed_queries import TypedQueries, read_gate
from annotation.derivation.rules.verified_key_points import VerifiedKeyPoints
from annotation.derivation.rules.written_key_points import WrittenKeyPoints
from annotation.models import Campaign
from datasets.derivation import DerivationError, NotDecidedError
from datasets.models import Batch
from tandem.files import rows

MOST_NAMED = 5

Labels = Mapping[str, Mapping[str, int]]


def unit(
    name: str, kind: str = "passage", /, asked: int = 0, **people: Mapping[str, int]
) -> LabelledUnit:
    found = LabelledUnit("item", kind, name, name, asked=asked)
    found.people = {variable: dict(votes) for variable, votes in people.items()}
    return found


def job(ties: str = "drop", mode: str = "majority", options: Any = None) -> Job:
    decider = Decider(mode, cast(Any, ties))
    return Job(cast(Batch, None), [], decider, None, options)


def passage(name: str, relevant: bool | None = None) -> rows.Passage:
    return rows.Passage(name, f"Text of {name}.", relevant=relevant)


class TestDeciding:
    def test_the_most_frequent_value_is_decided_and_a_tie_decides_nothing(self) -> None:
        decider = Decider("majority")
        assert decider.decide(unit("u", v={"a": 2, "b": 1}), "v") == Decision("a", "decided")
        assert decider.decide(unit("u", v={"a": 1, "b": 1}), "v") is TIE
        assert decider.decide(unit("u"), "v") is NOBODY
        assert Decider("unanimous").decide(unit("u", v={"a": 2, "b": 1}), "v") == TIE
        assert Decider("unanimous").decide(unit("u", v={"a": 2}), "v").value == "a"

    def test_a_unit_is_open_until_all_assigned_raters_have_answered(self) -> None:
        one = unit("u", asked=2, v={"a": 1})
        assert Decider("majority").decide(one, "v") == Decision(None, "open")
        assert Decider("majority").decide_if_asked(one, "v").value == "a"
        one.people["v"]["a"] = 2
        assert Decider("majority").decide(one, "v").value == "a"

    def test_a_sole_decider_is_waited_for_only_while_working_on_the_unit(self) -> None:
        one = unit("u", asked=3)
        assert Decider("ada").decide(one, "v") is NOBODY
        one.open = True
        assert Decider("ada").decide(one, "v") == Decision(None, "open")
        one.people["v"] = {"a": 1}
        assert Decider("ada").decide(one, "v").value == "a"

    def test_the_reference_takes_precedence_under_adjudicated(self) -> None:
        one = unit("u", asked=3, v={"a": 2})
        one.reference["v"] = {"b": 1}
        assert Decider("adjudicated").decide(one, "v").value == "b"
        assert Decider("adjudicated").decide_if_asked(one, "v").value == "b"
        assert Decider("majority").decide_if_asked(one, "v").value == "a"
        assert Decider("majority").decide(one, "v").state == "open"

    def test_the_first_five_undecided_units_are_named(self) -> None:
        found = Undecided()
        for number in range(MOST_NAMED):
            found.add("tie", f"u{number}")
        assert found.of("tie") == "u0, u1, u2, u3, u4"
        found.add("tie", "u5")
        assert found.of("tie").endswith("u4 and 1 more")
        assert found.of("open") == ""

    def test_undecided_units_are_refused_with_a_reason(self) -> None:
        def refused(decider: Decider, *states: Any) -> str:
            for state in states:
                decider.note(state, "u")
            with pytest.raises(NotDecidedError) as raised:
                check_decided(decider, [Campaign(name="c")], "units")
            return str(raised.value)

        assert refused(Decider("majority"), "tie", "nobody") == (
            "in 'c' there is a tie on 1 units (u) and nobody labelled 1 units (u); "
            "let an adjudicator decide, or give --ties keep or --ties drop"
        )
        assert "raters differ on 1 units" in refused(Decider("unanimous"), "tie")
        alone = refused(Decider("ada"), "nobody", "nobody")
        assert alone == "in 'c' ada labelled 2 units (u, u); give --ties keep or --ties drop"
        assert "ada has not answered 1 units in 'c' (u)" in refused(Decider("ada", "keep"), "open")
        decider = Decider("majority", "keep")
        decider.note("tie", "u")
        check_decided(decider, [], "units")


class TestUnits:
    def test_a_unit_of_two_campaigns_is_merged_with_the_labels_of_both(self) -> None:
        one, other = (
            unit("u", asked=2, v={"a": 1}),
            unit("u", asked=1, v={"a": 1, "b": 1}, w={"c": 1}),
        )
        other.open, other.reference = True, {"v": {"b": 1}}
        one.merge(other)
        assert (one.asked, one.open) == (3, True)
        assert one.people == {"v": {"a": 2, "b": 1}, "w": {"c": 1}}
        assert one.reference == {"v": {"b": 1}}

    def test_several_campaigns_are_read_as_one(self) -> None:
        class Fixed:
            def __init__(self, *units: LabelledUnit, query: int = 1) -> None:
                self.found = {query: list(units)}

            def read(self, queries: Sequence[int]) -> dict[int, list[LabelledUnit]]:
                return self.found

        first = Fixed(unit("a", v={"x": 1}))
        others = (Fixed(unit("a", v={"x": 1}), unit("b")), Fixed(unit("c"), query=2))
        reader = UnitReader(cast("list[LabelReader]", [first, *others]))
        found = reader.read([1, 2])
        assert [each.key for each in found[1]] == ["a", "b"]
        assert found[1][0].people == {"v": {"x": 2}}
        assert [each.key for each in found[2]] == ["c"]
        assert len(reader.digests.array()) == 3


class TestJudgedPassages:
    def judged(self, ties: str, *units: LabelledUnit) -> tuple[rows.Query, JudgedPassages]:
        work = JudgedPassages(job(ties))
        work._units = {1: list(units)}
        texts = tuple(map(passage, "abc"))
        return work.apply(1, rows.Query("q", "?", passages=texts)), work

    def test_a_tied_use_is_left_empty(self) -> None:
        yes = {"yes": 2}
        found, work = self.judged(
            "drop",
            unit("q/a", relevant=yes, use={"x": 1, "y": 1}),
            unit("q/b", relevant=yes, use={"x": 2}),
        )
        assert [(p.relevant, p.use) for p in found.passages] == [
            (True, None), (True, "x"), (None, None),
        ]  # fmt: skip
        assert work.tally.undecided == {"use tied, none given": 1}
        assert work.job.decider.undecided.of("tie") == "q/a (use)"
        assert work.tally.kept == {
            "queries": 1, "relevant passages": 2, "passages not in the campaign, as they were": 1,
        }  # fmt: skip

    def test_a_tied_relevance_is_settled_by_the_ties_option_and_has_no_use(self) -> None:
        tied = unit("q/a", relevant={"yes": 1, "no": 1}, use={"x": 1})
        assert self.judged("keep", tied)[0].passages[0].relevant is True
        assert self.judged("keep", tied)[0].passages[0].use is None
        found, work = self.judged("drop", tied)
        assert found.passages[0].relevant is False
        assert work.tally.kept["queries without a relevant passage"] == 1
        assert work.tally.undecided == {"tied, dropped": 1}

    def test_units_of_other_kinds_are_ignored(self) -> None:
        found, _ = self.judged("drop", unit("q/a", "sentence", relevant={"yes": 1}))
        assert found.passages[0].relevant is None


class TestAnswerableQuestions:
    CELLS = {
        ("p", "q1"): Decision("no", "decided"), ("r", "q1"): Decision("yes", "decided"),
        ("p", "q2"): TIE, ("r", "q2"): Decision(None, "open"),
        ("p", "q3"): TIE, ("r", "q3"): Decision("no", "decided"),
        ("p", "q4"): Decision("no", "decided"), ("r", "q4"): Decision("no", "decided"),
    }  # fmt: skip

    def test_one_yes_makes_a_question_answerable_and_open_takes_precedence_over_a_tie(self) -> None:
        work = object.__new__(CellWork)
        found = [work.answerable(f"q{n}", ("p", "r"), self.CELLS) for n in (1, 2, 3, 4)]
        assert [(each.value, each.state) for each in found] == [
            ("yes", "decided"), (None, "open"), (None, "tie"), ("no", "decided"),
        ]  # fmt: skip

    def test_a_named_context_is_a_reports_or_else_a_ranking(self) -> None:
        reports = (
            rows.Report("r1", "x", "one"),
            rows.Report("r2", "x", "one", setting="oracle", context=("a",)),
            rows.Report("r3", "x", "two", context=("b",)),
        )
        query = rows.Query("q", "?", reports=reports, rankings=(rows.Ranking("bm25", ("c", "d")),))
        found = [context_of(query, name) for name in ("one", "oracle", "two", "bm25", "none")]
        assert found == [("a",), ("a",), ("b",), ("c", "d"), None]

    def test_only_passages_of_the_oracle_context_count(self) -> None:
        work = object.__new__(CellWork)
        work.of_reports, work._seen_oracle = False, False
        work.job = job(options=type("Options", (), {"oracle": "bm25"}))
        ranked = (rows.Ranking("bm25", ("c", "a")),)
        texts = tuple(map(passage, "abc"))
        assert work._texts(rows.Query("q", "?", passages=texts)) == []
        with pytest.raises(DerivationError, match="no query has a context of 'bm25'"):
            work.finish()
        assert work._texts(rows.Query("q", "?", passages=texts, rankings=ranked)) == ["a", "c"]
        work.finish()


class TestVerifiedKeyPoints:
    def test_a_key_point_outside_the_campaign_is_left_out(self) -> None:
        work = VerifiedKeyPoints(job(options=RULES["verified-key-points"].options("agree")))
        work._units = {1: [unit("a", "key-point", grounded={"yes": 1}, key={"agree": 1})]}
        points = tuple(rows.KeyPoint(key, "So.", "p") for key in "ab")
        found = work.apply(1, rows.Query("q", "?", key_points=points))
        assert [point.id for point in found.key_points or ()] == ["a"]
        assert work.tally.left_out == [("key points", "b", "not in the campaign")]

    def test_unknown_codes_are_refused(self) -> None:
        for codes in ("", " , ", "agree,maybe"):
            with pytest.raises(DerivationError, match="lists some of agree, neutral, disagree"):
                VerifiedKeyPoints(job(options=RULES["verified-key-points"].options(codes)))


class TestTypedQueries:
    def typed(
        self, *units: LabelledUnit, ties: str = "drop"
    ) -> tuple[rows.Query | None, TypedQueries]:
        work = object.__new__(TypedQueries)
        work._gate, work._types, work._conditional = {"valid": "yes"}, ("category",), {"category"}
        Work.__init__(work, job(ties))
        work._units = {1: list(units)}
        return work.apply(1, rows.Query("q", "?", meta={"a": 1})), work

    def test_a_tied_type_gives_no_slice(self) -> None:
        found, work = self.typed(unit("q", "query", valid={"yes": 1}, category={"x": 1, "y": 1}))
        assert found is not None
        assert found.meta == {"a": 1}
        assert work.tally.undecided == {"category tied, no slice": 1}
        assert work.job.decider.undecided.of("tie") == "q (category)"
        found, work = self.typed(unit("q", "query", valid={"yes": 1}, category={"x": 1}))
        assert found is not None
        assert found.meta == {"a": 1, "category": "x"}
        assert work.tally.kept == {"queries": 1, "slices of category": 1}

    def test_only_a_decided_yes_passes_the_gate(self) -> None:
        tied = unit("q", "query", valid={"yes": 1, "no": 1})
        assert self.typed(tied)[0] is None
        assert self.typed(tied)[1].tally.left_out == [("queries", "q", "valid: undecided")]
        assert self.typed(tied, ties="keep")[0] is not None
        assert self.typed()[1].tally.left_out == [("queries", "q", "not in the campaign")]
        no = self.typed(unit("q", "query", valid={"no": 1}))[1]
        assert no.tally.left_out == [("queries", "q", "valid is not yes")]

    def test_a_gate_variable_counts_as_passed_if_its_condition_does_not_apply(self) -> None:
        work = self.typed()[1]
        one = unit("q", "query", asked=2, category={"x": 1}, valid={"yes": 1})
        assert work._decide(one, "category", "x").value == "yes"
        assert work._decide(one, "valid", "yes").state == "open"

    def test_a_gate_names_each_variable_once(self) -> None:
        assert read_gate(" a = x , b=y,") == {"a": "x", "b": "y"}
        for wrong in ("a", "a=", "=x", "a=x,a=y"):
            with pytest.raises(DerivationError, match="option keep is a list such as"):
                read_gate(wrong)


class TestOtherRules:
    def test_contexts_are_sampled_from_passages_with_a_text(self) -> None:
        options = RULES["sampled-contexts"].options(n=2, size=2, depth=2, seed=0)
        work = SampledContexts(job(options=options))
        rankings = (rows.Ranking("bm25", ("a", "x", "b")), rows.Ranking("none", ("x", "y")))
        query = rows.Query("q", "?", passages=tuple(map(passage, "ab")), rankings=rankings)
        found = work.apply(1, query).rankings
        assert [(each.system, each.passages) for each in found[2:]] == [
            ("bm25, sample 1", ("a",)), ("bm25, sample 2", ("a",)),
        ]  # fmt: skip
        assert work.tally.left_out == [("rankings", "q/none", "no passage has a text")]
        with pytest.raises(DerivationError, match="has a ranking of 'bm25, sample 1' already"):
            work.apply(1, rows.Query("q", "?", passages=query.passages, rankings=found))

    def test_without_a_written_point_there_is_no_report_to_judge(self) -> None:
        work = WrittenKeyPoints(job(options=RULES["written-key-points"].options()))
        point = (rows.KeyPoint("a", "So.", "p"),)
        found = work.apply(1, rows.Query("q", "?", key_points=point))
        assert (found.key_points, found.reports) == ((), ())
        assert work.tally.left_out == [("reports", "q", "nobody wrote a key point")]

    def test_the_gold_passage_is_a_relevant_one_or_the_only_one(self) -> None:
        def found(*facts: bool | None) -> list[str]:
            texts = tuple(passage(f"p{n}", fact) for n, fact in enumerate(facts))
            return [each.id for each in gold(rows.Query("q", "?", passages=texts))]

        assert found(None, True, False, True) == ["p1", "p3"]
        assert (found(None), found(False), found(None, None), found()) == (["p0"], [], [], [])

    def test_options_are_typed_and_limited(self) -> None:
        rule = RULES["sampled-contexts"]
        assert read_options(rule, ["n=3, size = 2", "seed=7"]) == {"n": 3, "size": 2, "seed": 7}
        for given, message in (
            (["n=x"], "option n .*not 'x'"),
            (["n=1.5"], "option n .*not '1.5'"),
            (["n=1", "n=2"], "option n is given twice"),
            (["m=1"], "has no option 'm=1'; its options are n, size, depth, seed"),
        ):
            with pytest.raises(DerivationError, match=message):
                read_options(rule, given)
        assert make_options(rule, {"n": 1000, "seed": 0}).n == 1000
        for name, value in (("n", 1001), ("n", 0), ("seed", -1)):
            with pytest.raises(DerivationError, match=f"option {name} "):
                make_options(rule, {name: value})
        with pytest.raises(DerivationError, match="has no option 'm'"):
            make_options(rule, {"m": 1})
        with pytest.raises(DerivationError, match="its options are none"):
            make_options(RULES["reports"], {"m": 1})
        with pytest.raises(DerivationError, match=r"option greedy .*not 'any'"):
            make_options(RULES["required-passages"], {"greedy": "any"})
        keys = read_options(RULES["verified-key-points"], ["key=agree,neutral"])
        assert keys == {"key": "agree,neutral"}
