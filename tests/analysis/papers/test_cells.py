"""Cells and rows of the papers' tables follow from given figures, without a study."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.evaluation.inputs import PEOPLE, TEXTS
from analysis.papers import clapnq, crux, crux_agreement, garage, long2rag
from analysis.papers.base import Column, Grid, percent, plain
from analysis.papers.rendering import _table
from analysis.papers.systems import cell_of, sliced
from tandem.files.rows import Passage, Query, Ranking, Reference, Report
from tandem.scores.options import PRESETS
from tests.analysis.cast import JUDGE, YES_NO, fact, frame_of, table

OPTIONS = SimpleNamespace(resamples=20, seed=1)


def cell(value: float | None, n: int = 4) -> dict[str, Any]:
    return plain(value, n, "mean", "no label")


def campaign(name: str, batch: str = "b") -> Any:
    return SimpleNamespace(name=name, batch=SimpleNamespace(name=batch))


def material(*campaigns: Any, queries: tuple[Query, ...] = (), **of: Any) -> Any:
    """A study of these campaigns, with the `measures` and `agreement` of each by name."""
    known = {name: (lambda each, *_, found=found: found[each.name]) for name, found in of.items()}
    known |= {"joint_frame": known["frame"]} if "frame" in known else {}
    return SimpleNamespace(
        every_campaign=campaigns,
        campaigns=lambda protocol: campaigns,
        batches=[each.batch for each in campaigns],
        queries=lambda batch: queries,
        data_set=lambda batch: batch.name,
        options=OPTIONS,
        only=lambda found: next(iter(found), None),
        parts=lambda each: [each],
        named=lambda each: f"campaign {each.name}",
        chosen=PRESETS["crux"],
        **known,
    )


def reason(found: Any) -> str:
    return str(found["reason"])


def values(grid: Grid) -> list[tuple[str, list[Any]]]:
    return [
        (name, [each["value"] if isinstance(each, dict) else each for each in cells])
        for name, cells in grid.rows
    ]


def measured(**systems: Any) -> dict[str, Any]:
    return {"systems": systems}


class TestClapnq:
    def test_sentences_used_by_an_answer_come_from_the_answer_or_its_meta(self) -> None:
        meta = {"selected_sentences": ["Two.", 3]}
        assert clapnq.selected_sentences(Reference("x", sentences=("One.",), meta=meta)) == ["One."]
        assert clapnq.selected_sentences(Reference("x", meta=meta)) == ["Two.", "3"]
        assert clapnq.selected_sentences(Reference("x")) == []

    def test_the_gold_passage_is_the_marked_one_or_the_only_one_without_marks(self) -> None:
        passages = (Passage("a", "A.", relevant=False), Passage("b", "B."), Passage("c", "C."))
        assert clapnq.passage_text(Query("q", "?", passages=passages)) == "B. C."
        marked = (*passages, Passage("d", "D.", relevant=True))
        assert clapnq.passage_text(Query("q", "?", passages=marked)) == "D."

    def test_the_mean_of_no_values_is_undefined(self) -> None:
        assert reason(clapnq._mean([], [], "answers")) == "no answers"
        assert clapnq._mean([1.0, 2.0], [0, 1], "answers")["value"] == 1.5

    def test_table_4_has_a_row_for_each_retriever_of_the_first_ranked_batch(self) -> None:
        queries = (Query("q", "?", rankings=(Ranking("bm25", ("a",)), Ranking("dense", ("b",)))),)
        found = {
            "nDCG@1": measured(**{"bm25 (ranking)": {TEXTS: cell(0.5)}, "dense": {PEOPLE: cell(1)}})
        }
        study = material(campaign("c"), queries=queries, named_measures={"c": found})
        (grid,) = clapnq.table_4(study)
        assert (grid.caption, grid.stub, len(grid.columns)) == ("b", "Retriever", 5)
        assert [name for name, _ in grid.rows] == ["bm25", "dense"]
        assert values(grid)[0][1] == [0.5, None, None, None, None]
        assert values(grid)[1][1] == [None] * 5
        assert reason(grid.rows[1][1][0]) == "no ranking of dense has nDCG@1"
        (none,) = clapnq.table_4(material(campaign("c")))
        assert none.rows[0][0] == "none yet"

    def test_table_4_passes_over_batches_without_rankings(self) -> None:
        bare, ranked = campaign("a", "bare"), campaign("b", "ranked")
        queries = {"bare": (Query("q", "?"),),
                   "ranked": (Query("q", "?", rankings=(Ranking("bm25", ("a",)),)),)}  # fmt: skip
        study = material(bare, ranked, named_measures={"b": {}})
        study.queries = lambda batch: queries[batch.name]
        (grid,) = clapnq.table_4(study)
        assert (grid.caption, values(grid)) == ("ranked", [("bm25", [None] * 5)])

    def test_each_question_of_a_campaign_has_its_agreement(self) -> None:
        def agreement(value: float) -> Any:
            return {"agreement": {"percent": cell(value), "gwet_ac": cell(value - 0.1)}}

        found = {
            "a": {"faithful": agreement(0.9), "other": agreement(0.1)},
            "p": {"preferred": agreement(0.6)},
        }
        study = material(agreement=found)
        (grid,) = clapnq._percent_agreement(study, [campaign("a")], [campaign("p")])
        assert values(grid) == [
            ("faithful (a)", [0.9, pytest.approx(0.8)]), ("preferred (p)", [0.6, 0.5]),
        ]  # fmt: skip
        (none,) = clapnq._percent_agreement(study, [], [])
        assert "no campaign of answer-rating and none" in reason(none.rows[0][1][0])
        frames = material(frame={"a": SimpleNamespace(variables={})})
        (needed,) = clapnq._needed_passages(frames, [campaign("a")])
        assert "asks needed_question or needed_answer" in reason(needed.rows[0][1][0])


class TestReferencesOfClapnq:
    """The tables of the batches that contain people's answers."""

    ANSWERED = Query("q1", "?", references=(Reference("So."),), meta={"split": "dev"})
    OPEN = Query("q2", "?")

    @staticmethod
    def batches(**queries: tuple[Query, ...]) -> Any:
        """A study of batches; they come from the data set that begins their name."""
        study = material(*(campaign(f"of {name}", name) for name in queries))
        study.queries = lambda batch: queries[batch.name]
        study.data_set = lambda batch: batch.name.partition("_")[0]
        study.written = lambda each: {}
        return study

    def test_a_reference_is_usable_unless_it_is_deflected_or_empty(self) -> None:
        texts = ("So.", " NA ", ".", "")
        references = (*map(Reference, texts), Reference("Well.", deflected=True))
        found = clapnq.usable_references(Query("q", "?", references=references))
        assert [each.text for each in found] == ["So."]

    def test_a_question_without_a_split_counts_among_all_questions_only(self) -> None:
        study = self.batches(b=(self.ANSWERED, self.OPEN))
        (grid,) = clapnq.table_3(study)
        assert values(grid) == [("dev", [1, 0, 1]), ("all", [1, 1, 2])]

    def test_the_last_batch_with_references_stands_for_its_data_set(self) -> None:
        more = replace(self.ANSWERED, id="q3", meta=None)
        one, two = (self.ANSWERED, self.OPEN), (self.ANSWERED, more)
        study = self.batches(a_1=one, a_2=two, a_3=(self.OPEN,), b_1=one)
        first, second = clapnq.table_3(study)
        assert (first.caption, values(first)[-1]) == ("a", ("all", [2, 0, 2]))
        assert (second.caption, values(second)[-1]) == ("b", ("all", [1, 1, 2]))

    def test_tables_of_answers_name_the_references_that_the_study_lacks(self) -> None:
        study = self.batches(b=(self.OPEN,))
        for build, width, stub in (
            (clapnq.table_2, 1, "Answerable questions"),
            (clapnq.table_3, 3, "Split"),
            (clapnq.section_321, 3, "Pair of texts"),
        ):
            (grid,) = build(study)
            assert {reason(each) for each in grid.rows[0][1]} == {clapnq.NO_REFERENCES}
            assert (len(grid.columns), grid.stub) == (width, stub)
        (grid,) = clapnq.tables_5_6_8(self.batches(b=(self.ANSWERED,)))
        assert {reason(each) for each in grid.rows[0][1]} == {clapnq.NO_REPORTS}

    def test_answers_that_select_nothing_are_compared_with_nothing(self) -> None:
        for grid in clapnq.section_321(self.batches(b=(self.ANSWERED,))):
            for _, cells in grid.rows:
                assert {reason(each) for each in cells} == {"no answers with selections"}

    def test_means_are_over_questions_after_averaging_the_answers_to_each(self) -> None:
        answers = tuple(Reference(text, sentences=("So.",)) for text in ("So.", "So so."))
        queries = tuple(replace(self.ANSWERED, id=name, references=answers) for name in "ab")
        (means,) = clapnq.table_2(self.batches(b=queries))
        cells = {name: cell for name, (cell,) in means.rows}
        for name in ("answers per question", "words of the answer", "selected sentences"):
            assert "2 queries" in str(cells[name]), name
        _, every = clapnq.section_321(self.batches(b=queries))
        for _, estimates in every.rows:
            assert all("2 queries" in str(each) for each in estimates)

    def test_agreement_of_written_answers_has_a_row_for_each_pairing(self) -> None:
        rounds = {"rouge_l_differing": cell(0.6, 5), "rouge_l_all": cell(0.8, 9)}
        between = {"rouge_l_differing": None, "rouge_l_all": cell(0.7, 3)}
        of = {"one": {"rounds": rounds, "between_raters": between}, "two": {}}
        (grid,) = clapnq._agreement(material(campaign("one"), campaign("two"), written=of))
        assert grid.caption == "one: agreement of people's answers"
        assert values(grid) == [
            ("both rounds, differing answers", [0.6, 5]),
            ("both rounds, all answers", [0.8, 9]),
            ("all pairs of people, all answers", [0.7, 3]),
        ]

    def test_a_split_without_answerable_questions_has_no_rows_and_others_have(self) -> None:
        # The reports of q2 have nothing to be compared with.
        own = (Report("r", "So."),)
        queries = (
            replace(self.ANSWERED, reports=own),
            replace(self.ANSWERED, id="q3"),
            replace(self.OPEN, reports=own, meta={"split": "test"}),
        )
        dev, test, _ = clapnq.tables_5_6_8(self.batches(b=queries))
        assert values(dev) == [("–", [1, 1, None, 3, 1, None])]
        assert (test.caption, test.rows) == ("b, test", ())


class TestGradesOfClapnq:
    GRADES, PAIRS = (campaign("g1", "a"), campaign("g2", "b")), (campaign("p", "b"),)

    def test_a_data_set_without_verdicts_says_so_in_its_column(self) -> None:
        systems = measured(one={PEOPLE: cell(3.0), "raters": {}})
        graded = dict.fromkeys(("Faithful", "Appropriate", "F+A"), systems)
        found: dict[str, Any] = {
            "g1": {"campaign": "g1", "measures": graded},
            "g2": {"campaign": "g2", "measures": graded},
            "p": {"campaign": "p", "measures": {"Win-rate": systems}},
        }
        people = SimpleNamespace(raters=[
            SimpleNamespace(name="ada", kind="human", excluded=None, labels=1)
        ], variables={})  # fmt: skip
        study = material(measures=found, frame=dict.fromkeys(found, people),
                         agreement={name: {} for name in found})  # fmt: skip
        by_protocol = {"answer-rating": self.GRADES, "answer-preference": self.PAIRS}
        study.campaigns = by_protocol.get
        one, other, *_ = clapnq.tables_7_9(study)
        assert (one.caption, other.caption) == ("a, by people", "b, by people")
        assert values(one) == [("one", [3, 3, 3, None])]
        assert "answer-preference over these answers" in reason(one.rows[0][1][3])
        assert values(other) == [("one", [3, 3, 3, 3])]

    def test_without_campaigns_each_part_says_what_is_missing(self) -> None:
        systems, agreement, needed = clapnq.tables_7_9(material())
        assert "answer-rating over these answers" in reason(systems.rows[0][1][0])
        assert len(systems.columns) == 4
        assert (agreement.stub, needed.stub) == ("Variable", "Share")
        assert [column.digits for column in needed.columns] == [1, 1, 0]


class TestSystems:
    REPORT = {"campaign": "c", "measures": {"KPR": measured(one={PEOPLE: cell(0.5), "raters": {}})}}

    def test_an_empty_cell_has_its_reason(self) -> None:
        assert cell_of(self.REPORT, "KPR", "one", PEOPLE, "")["value"] == 0.5
        found = cell_of(self.REPORT, "KPR", "one", "judge", "")
        assert reason(found) == "judge gave no label for KPR in campaign c"
        assert reason(cell_of(self.REPORT, "KPR", "two", PEOPLE, "")).startswith("people gave no")
        assert reason(cell_of(None, "KPR", "one", PEOPLE, "nobody asked")) == "nobody asked"

    def test_a_table_of_slices_names_the_missing_campaign_or_measure(self) -> None:
        (none,) = sliced(material(), None, "KPR", ("kind", "domain"), percent, "no campaign")
        assert (none.caption, reason(none.rows[0][1][0])) == ("By kind or domain", "no campaign")
        study = material(measures={"c": self.REPORT})
        (none,) = sliced(study, campaign("c"), "RAF", ("kind",), percent, "")
        assert reason(none.rows[0][1][0]) == "campaign c has no RAF"


class TestLong2rag:
    def test_two_judges_are_shown_side_by_side_in_the_order_of_the_first(self) -> None:
        def by(one: float | None, other: float) -> Any:
            raters = {"j": cell(one), "k": cell(other)}
            return {
                PEOPLE: None,
                "raters": {n: c for n, c in raters.items() if c["value"] is not None},
            }

        of: dict[str, Any] = measured(low=by(0.2, 0.9), high=by(0.8, 0.1), none=by(None, 0.5))
        pairs = [
            {"a": "k", "b": "people", "kendall": cell(0.1)},
            {"a": "k", "b": "j", "kendall": cell(-1.0)},
        ]
        report = {"campaign": "c", "measures": {long2rag.KPR: of}}
        study = material(measures={"c": report}, orders={"c": pairs})
        grid = long2rag._side_by_side(study, campaign("c"), "j", "k")
        assert values(grid) == [
            ("high", [0.8, 0.1]), ("low", [0.2, 0.9]), ("none", [None, 0.5]),
            (long2rag.TAU_ROW, ["", -1.0]),
        ]  # fmt: skip
        last = grid.rows[-1][1][1]
        assert isinstance(last, dict)
        assert (last["scale"], last["digits"], grid.apart) == (1.0, 3, 1)
        pairs.clear()
        last = long2rag._side_by_side(study, campaign("c"), "j", "k").rows[-1][1][1]
        assert isinstance(last, dict)
        assert reason(last) == "the judges labelled other systems"

    def test_accuracy_needs_its_question_and_either_a_judge_or_two_people(self) -> None:
        def found(variables: Any) -> Grid:
            study = material(agreement={"c": variables})
            return long2rag._accuracy(study, campaign("c"))

        assert "does not ask for entailed" in reason(found({}).rows[0][1][0])
        nobody: dict[str, Any] = {"entailed": {"judges": {}, "agreement": {}}}
        assert "no judge, and no two people" in reason(found(nobody).rows[0][1][0])
        figures = {"percent": cell(0.9), "cohen_kappa": cell(0.7)}
        pair = {"a": "ada", "b": "ben", "percent": cell(0.8), "cohen_kappa": cell(0.6)}
        both = {"judges": {"j": {"agreement": figures}}, "agreement": {"pairs": [pair]}}
        assert values(found({"entailed": both})) == [
            ("j", [0.9, 0.7]), ("ada and ben", [0.8, 0.6]),
        ]  # fmt: skip

    def test_the_pair_of_people_that_agrees_best_has_a_row(self) -> None:
        def pair(a: str, value: float | None, units: int = 4) -> Any:
            return {"a": a, "b": "x", "percent": cell(value), "units": units}

        of: dict[str, Any] = {
            "categories": ["yes", "no"],
            "agreement": {
                "units": 9.0, "percent": cell(0.7), "randolph_kappa": cell(0.4),
                "pairs": [pair("ada", 0.6), pair("ben", 0.9, 7), pair("cy", None)],
            },
        }  # fmt: skip
        study = material(agreement={"c": {"grounded": of}})
        first, best = values(long2rag._verified(study, campaign("c")))
        assert first == ("grounded, all people", [9, 0.7, 0.4])
        assert best[0] == "grounded, ben and x"
        assert best[1] == [7, 0.9, pytest.approx(0.8)]
        del of["agreement"]["pairs"][0]
        assert len(values(long2rag._verified(study, campaign("c")))) == 1, "there is one pair"

    def test_without_campaigns_the_tables_name_the_campaigns_to_create(self) -> None:
        for build in (long2rag.table_2, long2rag.table_3):
            (grid,) = build(material())
            assert reason(grid.rows[0][1][0]) == long2rag.NO_RECALL

    def test_settings_are_columns_and_answers_without_one_have_their_batch(self) -> None:
        reports = tuple(
            Report(f"r{n}", "So.", system=system, setting=setting)
            for n, (system, setting) in enumerate((("a", "full"), ("a", "none"), ("b", None)))
        )
        of = {"a (full)": 0.5, "a (none)": 0.25, "b": 1.0}
        found = measured(**{name: {PEOPLE: cell(v), "raters": {}} for name, v in of.items()})
        people = SimpleNamespace(name="ada", kind="human", excluded=None, labels=1)
        study = material(
            campaign("c"),
            queries=(Query("q", "?", reports=reports),),
            measures={"c": {"campaign": "c", "measures": {long2rag.KPR: found}}},
            frame={"c": SimpleNamespace(raters=[people])},
        )
        study.is_derived_by = lambda batch, rule: False
        (grid,) = long2rag.table_2(study)
        assert [column.name for column in grid.columns] == ["full", "none", "b"]
        assert values(grid) == [("a", [0.5, 0.25, None]), ("b", [None, None, 1.0])]

    def test_each_pair_of_judges_has_a_table(self) -> None:
        def by(*values: float) -> Any:
            raters = dict(zip("jkl", map(cell, values), strict=True))
            return {PEOPLE: None, "raters": raters}

        of: dict[str, Any] = measured(one=by(0.2, 0.9, 0.4))
        machines = [
            SimpleNamespace(name=name, kind="judge", excluded=None, labels=1) for name in "jkl"
        ]
        study = material(
            campaign("c"),
            measures={"c": {"campaign": "c", "measures": {long2rag.KPR: of}}},
            orders={"c": []},
            frame={"c": SimpleNamespace(raters=machines)},
        )
        study.is_derived_by = lambda batch, rule: False
        grids = long2rag.table_3(study)
        assert [[column.name for column in grid.columns] for grid in grids] == [
            ["KPR by j", "KPR by k"], ["KPR by j", "KPR by l"], ["KPR by k", "KPR by l"],
        ]  # fmt: skip
        assert [values(grid)[0] for grid in grids] == [
            ("one", [0.2, 0.9]), ("one", [0.2, 0.4]), ("one", [0.9, 0.4]),
        ]  # fmt: skip

    def test_the_mean_of_people_leaves_out_those_without_a_verdict(self) -> None:
        def rate(*values: float | None) -> Any:
            return {"cuts": [{"false_discovery_rate": cell(value)} for value in values]}

        together = [{"threshold": t, "false_discovery_rate": cell(t / 2)} for t in (0.5, 1.0)]
        raters = {"ada": rate(0.25, None), "ben": rate(0.5, None), "cy": rate(None, None)}
        scores = {"raters": raters, "cuts": together}
        grid = long2rag._false_positives(campaign("c"), scores)
        heads = [column.name for column in grid.columns]
        assert heads == ["ada", "ben", "cy", "Mean of people", "People together"]
        assert values(grid) == [
            ("score from 0.5", [0.25, 0.5, None, (0.25 + 0.5) / 2, 0.25]),
            ("score from 1", [None, None, None, None, 0.5]),
        ]
        mean, none = (cells[3] for _, cells in grid.rows)
        assert isinstance(mean, dict)
        assert (mean["n"], reason(none)) == (2, "no person has a verdict on a kept point")

    def test_points_without_scores_have_no_calibration(self) -> None:
        study = material(key_point_scores={"c": None})
        (grid,) = long2rag._scores(study, campaign("c"))
        assert reason(grid.rows[0][1][0]).startswith("the key points of b have no score")
        assert grid.stub == "Bin"

    def test_kept_points_have_a_row_for_each_evaluator_or_a_reason(self) -> None:
        people = SimpleNamespace(name="ada", kind="human", excluded=None, labels=1)
        judge = SimpleNamespace(name="j", kind="judge", excluded=None, labels=1)
        kept = {"": {PEOPLE: cell(0.5), "raters": {}}}
        found = {"Retention-micro": {"systems": kept}}

        def retained(*raters: Any) -> Grid:
            study = material(
                measures={"c": {"measures": found}}, frame={"c": SimpleNamespace(raters=raters)}
            )
            return long2rag._retained(study, campaign("c"))

        grid = retained(judge, people)
        assert values(grid) == [("people", [0.5, None]), ("j", [None, None])]
        assert reason(grid.rows[1][1][0]) == "j verified nothing in campaign c"
        assert reason(retained().rows[0][1][0]) == "nobody verified anything in campaign c"
        assert {grid.stub, retained().stub} == {"By"}

    def test_figure_13_needs_a_verification_of_the_points_of_questions(self) -> None:
        (grid,) = long2rag.figure_13(material())
        assert reason(grid.rows[0][1][0]) == long2rag.NO_VERIFICATION
        for build in (long2rag.table_1, long2rag.table_4, long2rag.figures_6_7, long2rag.section_6):
            (grid,) = build(material())
            assert {reason(each) for each in grid.rows[0][1]} == {long2rag.NO_RECALL}


class TestGarage:
    def test_a_unit_counts_by_what_most_people_said_and_ties_are_left_out(self) -> None:
        frame = frame_of(table({"Ada": "ynyn", "Bram": "yyn.", "Chidi": "ny.."}))
        # Two of three say yes to the first two; people tie on the third; one says no to the last.
        found = garage._decided(frame.variables["answerable"])
        assert found == (["yes", "yes", "no"], [0, 0, 1], 1)

    def test_claims_are_counted_by_people_together_and_by_each_judge(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said = {"Ada": "yny", "Bram": "yyy", JUDGE: "nny"}
        facts = [
            fact(f"r{n}", f"c{n}", rater, {"y": "yes", "n": "no"}[code], "grounded",
                 kind="key-point", system="one" if n < 2 else None)
            for rater, codes in said.items()
            for n, code in enumerate(codes)
        ]  # fmt: skip
        frame = frame_of(facts, grounded=YES_NO)
        monkeypatch.setattr(garage, "verifications", lambda study, of: [campaign("c")] * of)
        study = material(frame={"c": frame})
        study.campaigns = lambda protocol: ()
        people, judge = garage.section_2(study)
        assert people.caption == "c: claims, by people"
        # People tie on the second claim.
        assert values(people) == [("one", [1, 1, 1]), ("–", [1, 1, 1])]
        assert judge.caption == f"c: claims, by {JUDGE}"
        assert values(judge) == [("one", [0, 2, 2]), ("–", [1, 1, 1])]
        monkeypatch.setattr(garage, "verifications", lambda study, of: [])
        (none,) = garage.section_2(study)
        assert reason(none.rows[0][1][0]) == garage.NO_CLAIMS

    def test_figures_name_the_data_that_the_study_lacks(self) -> None:
        (kinds,) = garage.figure_3(material())
        assert reason(kinds.rows[0][1][0]) == garage.NO_TYPING
        found = [reason(grid.rows[0][1][0]) for grid in garage.figure_4(material())]
        assert found == [
            "no passage of the study has a source", garage.NO_GROUNDING,
            "no batch of the study has references",
        ]  # fmt: skip
        (answers,) = garage.tables_3_4(material())
        assert {reason(each) for each in answers.rows[0][1]} == {garage.NO_ANSWERS}

    def test_labels_are_listed_by_share_with_the_most_frequent_first(self) -> None:
        grid = garage._shares(["b", "a", "b", "c"], [0, 0, 1, 1], "Kinds", "questions")
        assert values(grid) == [("b", [0.5, 2]), ("a", [0.25, 1]), ("c", [0.25, 1])]
        none = garage._shares([], [], "Kinds", "questions")
        assert (none.stub, reason(none.rows[0][1][0])) == ("Label", "no questions")

    def test_a_table_uses_the_first_batch_that_has_the_needed_part(self) -> None:
        query = Query("q", "?", passages=(Passage("p", "So."),))
        study = material(campaign("c"), queries=(query,))
        assert garage._first_batch(study, lambda each: each.passages) == ("b", "b", (query,))
        assert garage._first_batch(study, lambda each: each.reports) == ("", "", ())


def test_tables_of_crux_without_data_say_that_nothing_was_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (crux, crux_agreement):
        monkeypatch.setattr(module, "data_sets", lambda material: [])
    for build in (crux.table_1, crux.table_4):
        (grid,) = build(material())
        assert {reason(each) for each in grid.rows[0][1]} == {crux.NOTHING}
    (figure,) = crux.figure_4(material())
    assert "no campaign of report-coverage" in reason(figure.rows[0][1][0])


def test_printed_figures_have_a_column_beside_ours() -> None:
    columns = [{"name": name, "scale": 100.0, "digits": 1} for name in ("A", "B")]
    rows = [{"name": "one", "cells": [cell(0.5), cell(0.25)]}, {"name": "two", "cells": [3, "x"]}]
    printed = [{"row": "one", "column": "A", "value": 49.125}]
    grid = {"caption": "T", "columns": columns, "rows": rows, "printed": printed,
            "stub": "System", "apart": 1}  # fmt: skip
    table = _table(grid)
    assert [str(each).partition(",")[0] for each in table.header] == ["System", "A", "A", "B"]
    first, second = table.rows
    assert [getattr(each, "value", each) for each in first] == ["one", 50.0, 49.125, 25.0]
    assert getattr(first[2], "digits", None) == 3, "as it is printed"
    assert [getattr(each, "value", each) for each in second] == ["two", 3, "", "x"]
    assert table.apart == 1


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="as many cells as there are columns"):
        Grid("T", (Column("A"),), (("one", (1, 2)),))
