"""Mutants: small faults that are put into the code, to see whether tests notice."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from coverage.numbits import nums_to_numbits

from scripts.mutants import equivalents, mapping, report, sampling
from scripts.mutants.copies import Copy, Session
from scripts.mutants.mapping import Map
from scripts.mutants.nearest import Nearest
from scripts.mutants.operators import optional_names
from scripts.mutants.running import CAUGHT, EQUIVALENT, SURVIVED, Judge, Order, Result, Results
from scripts.mutants.sampling import Mutant, changed_lines
from scripts.mutants.statements import edits
from scripts.mutants.strata import STRATA, files
from tests.cast import ROOT

CODE = '''\
"""A module, which may say 1 < 2 in its docstring."""

from __future__ import annotations

LEAST = 3
CHUNK = 500
READERS = ("ada", "bob")
A_GRADE: dict[str, int] = {"points": 7}


def grade(points: int, late: bool = False) -> str:
    """At least 3 points."""
    log.info("graded %s", 4)
    if points >= LEAST and not late:
        return "pass"
    raise ValueError(f"no more than {points + 1}")


@transaction.atomic
def close(rows: Rows) -> list[int]:
    rows.filter(owner__age__lt=18, open=True).order_by("-pk").update(open=False)
    with lock():
        rows.total += 1
        rows.save()
    return [row.pk for row in rows if row.pk]


def caller() -> None:
    print(grade(5, late=True), READERS)
'''


def mutants_of(code: str) -> set[tuple[str, str]]:
    """The lines that edits change, before and after."""
    return {changed_lines(code, _applied(code, edit.start, edit.end, edit.text))
            for edit in edits(code, optional_names([code]))}  # fmt: skip


def _applied(code: str, start: int, end: int, text: str) -> str:
    return (code.encode()[:start] + text.encode() + code.encode()[end:]).decode()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LEAST = 3", "LEAST = 4"),
        ('READERS = ("ada", "bob")', 'READERS = ("bob")'),
        ("if points >= LEAST and not late:", "if points > LEAST and not late:"),
        ("if points >= LEAST and not late:", "if points >= LEAST or not late:"),
        ("if points >= LEAST and not late:", "if points >= LEAST and late:"),
        ("if points >= LEAST and not late:", "if not (points >= LEAST and not late):"),
        ("if points >= LEAST and not late:", "if False:"),
        ('return "pass"', 'return ""'),
        ('raise ValueError(f"no more than {points + 1}")', "pass"),
        ("@transaction.atomic", "# no decorator"),
        ("with lock():", "if True:"),
        ("rows.total += 1", "rows.total -= 1"),
        ("rows.save()", "pass"),
        ("return [row.pk for row in rows if row.pk]", "return []"),
        ("return [row.pk for row in rows if row.pk]", "return [row.pk for row in rows if True]"),
        ("print(grade(5, late=True), READERS)", "print(grade(5, ), READERS)"),
    ],
)  # fmt: skip
def test_a_mutant_is_one_small_change(before: str, after: str) -> None:
    code = CODE.replace("print(grade", "tell(grade")
    assert (before.replace("print", "tell"), after.replace("print", "tell")) in mutants_of(code)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "changed",
    ["filter(owner__age__lte=18", "filter(open=True)", "exclude(", 'order_by("pk")', "age__lt=19"],
)
def test_a_mutant_drops_one_condition_of_a_query(changed: str) -> None:
    assert any(changed in after for _, after in mutants_of(CODE))


def test_texts_logs_types_and_chunk_sizes_are_not_mutated() -> None:
    touched = {before for before, _ in mutants_of(CODE)}
    left = ('"""', "log.info", "CHUNK", "A_GRADE", "from ", "print(")
    assert not {line for line in touched if line.startswith(left)}
    assert not {after for _, after in mutants_of(CODE) if "points - 1" in after}


def test_a_union_of_types_is_not_mutated_as_an_operator() -> None:
    code = "def rows() -> None:\n    keep(Counter[str | None](), 1 | 2)\n"
    assert {after for _, after in mutants_of(code)} & {"keep(Counter[str | None](), 1 & 2)"}
    assert not {after for _, after in mutants_of(code) if "str & None" in after}


def test_every_mutant_of_a_module_differs_from_it() -> None:
    for edit in edits(CODE, {}):
        mutated = _applied(CODE, edit.start, edit.end, edit.text)
        assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(CODE)), edit


def test_no_module_is_in_two_strata() -> None:
    found = [path for stratum in STRATA for path in files(ROOT, stratum)]
    assert len(set(found)) == len(found)


def test_every_module_of_a_stratum_exists_and_is_one_of_the_product() -> None:
    known = sampling.sources(ROOT)
    assert not [p for stratum in STRATA for p in files(ROOT, stratum) if p not in known]
    assert not [p for patterns in STRATA.values() for p in patterns if not any(ROOT.glob(p))]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product of two strata with one module each."""
    (tmp_path / "audit").mkdir()
    for name in ("first", "second"):
        (tmp_path / "audit" / f"{name}.py").write_text(CODE, "utf-8")
    strata = {name: (f"audit/{name}.py",) for name in ("first", "second")}
    monkeypatch.setattr(sampling, "STRATA", strata)
    monkeypatch.setattr("scripts.mutants.strata.STRATA", strata)
    return tmp_path


class TestTheSample:
    def test_the_sample_is_split_evenly_between_strata(self, tree: Path) -> None:
        drawn = sampling.sample(tree, seed=1, count=15)
        assert Counter(mutant.stratum for mutant in drawn) == {"first": 8, "second": 7}
        assert len({(mutant.path, mutant.mutated) for mutant in drawn}) == 15

    def test_equal_seeds_draw_equal_samples(self, tree: Path) -> None:
        ids = [mutant.id for mutant in sampling.sample(tree, seed=1, count=10)]
        assert [mutant.id for mutant in sampling.sample(tree, seed=1, count=10)] == ids
        assert {mutant.id for mutant in sampling.sample(tree, seed=2, count=10)} != set(ids)

    def test_a_mutant_keeps_its_id_when_lines_move(self, tree: Path) -> None:
        before = {mutant.id for mutant in sampling.sample(tree, 1, 500)}
        path = tree / "audit" / "first.py"
        path.write_text(CODE.replace("LEAST = 3", "\n\nLEAST = 3"), "utf-8")
        assert {mutant.id for mutant in sampling.sample(tree, 1, 500)} == before


def _mutant(tree: Path, after: str) -> Mutant:
    drawn = sampling.sample(tree, seed=1, count=500, only=["first"])
    return next(mutant for mutant in drawn if mutant.changed[1] == after)


LINES = {name: number for number, name in enumerate(CODE.splitlines(), start=1)}


def _session(module: str, runs: dict[str, list[str]]) -> Session:
    """A session of tests, each of which runs some of the lines."""
    covered: dict[str, dict[str, str]] = {}
    log: list[dict[str, object]] = []
    for name, lines in runs.items():
        test = f"{module}::{name}"
        numbers = [next(n for line, n in LINES.items() if each in line) for each in lines]
        covered[test] = {"audit/first.py": nums_to_numbits(numbers).hex()}
        end = {"what": "end", "test": test, "seconds": 1, "fixtures": [], "processes": 0}
        log += [{"what": "passed", "test": test}, end]
    return Session(log=log, covered=covered)


@pytest.fixture
def known(tree: Path) -> Map:
    made = Map(tree / "map.sqlite3")
    graded = {"grades": ["if points"], "grades_late": ["if points", "raise", "rows.save"]}
    made.take(tree, _session("tests/audit/test_first.py", graded), ["tests/audit/test_first.py"])
    calls = {"calls": ["print("], "closes": ["rows.save"]}
    made.take(tree, _session("tests/audit/test_other.py", calls), ["tests/audit/test_other.py"])
    return made


class TestTheNearestTests:
    def test_the_tests_that_run_the_line_come_with_the_most_specific_first(
        self, tree: Path, known: Map
    ) -> None:
        nearest = Nearest(known, sampling.sources(tree))
        rounds = nearest.rounds(_mutant(tree, "if False:"))
        first = [f"tests/audit/test_first.py::{name}" for name in ("grades", "grades_late")]
        assert rounds[0] == first

    def test_tests_of_callers_come_after_the_nearest_tests(self, tree: Path, known: Map) -> None:
        nearest = Nearest(known, sampling.sources(tree))
        rounds = nearest.rounds(_mutant(tree, "if False:"))
        assert rounds[1] == ["tests/audit/test_other.py::calls"]

    def test_a_constants_nearest_tests_run_the_code_that_uses_it(
        self, tree: Path, known: Map
    ) -> None:
        nearest = Nearest(known, sampling.sources(tree))
        rounds = nearest.rounds(_mutant(tree, 'READERS = ("bob")'))
        assert rounds[0] == ["tests/audit/test_other.py::calls"]
        assert nearest.at_start(_mutant(tree, 'READERS = ("bob")'))

    def test_constants_assigned_together_have_nearest_tests_too(
        self, tree: Path, known: Map
    ) -> None:
        path = tree / "audit" / "first.py"
        path.write_text(CODE.replace("LEAST = 3", "LEAST, MOST = 3, 9"), "utf-8")
        nearest = Nearest(known, sampling.sources(tree))
        rounds = nearest.rounds(_mutant(tree, "LEAST, MOST = 4, 9"))
        assert len(rounds[0]) == 2

    def test_nearest_tests_are_found_after_lines_have_moved(self, tree: Path, known: Map) -> None:
        path = tree / "audit" / "first.py"
        path.write_text("# A new first line.\n" + CODE, "utf-8")
        nearest = Nearest(known, sampling.sources(tree))
        assert len(nearest.rounds(_mutant(tree, "if False:"))[0]) == 2

    def test_a_changed_test_module_is_stale_and_a_deleted_one_is_forgotten(
        self, tree: Path, known: Map
    ) -> None:
        (tree / "tests" / "audit").mkdir(parents=True)
        (tree / "tests" / "audit" / "test_first.py").write_text("new = 1\n", "utf-8")
        assert known.stale(tree) == ["tests/audit/test_first.py"]
        known.forget(["tests/audit/test_other.py"])
        assert all(test.startswith("tests/audit/test_first") for test in known.costs()[0])


class FakeCopy(Copy):
    """Fails the first test if the file has the mutant, and the test named `failing` always."""

    def __init__(self, root: Path, failing: str = "") -> None:
        super().__init__(root)
        self.root, self.failing = root, failing
        self.asked: list[list[str]] = []

    def test(self, wanted, *_: object, **__: object) -> Session:
        self.asked.append(list(wanted))
        text = (self.root / "audit" / "first.py").read_text("utf-8")
        ran = [name for name in wanted if name.endswith(self.failing or "nothing")]
        if ran:
            return Session(caught=ran[0], how="always")
        noticed = "if False" in text
        return Session(caught=wanted[0] if noticed else None, passed=len(wanted))


class TestTheVerdict:
    def test_a_failing_test_catches_the_mutant_and_the_file_is_restored(
        self, tree: Path, known: Map
    ) -> None:
        judge = Judge(Nearest(known, sampling.sources(tree)), print)
        result = judge.one(FakeCopy(tree), _mutant(tree, "if False:"))
        assert (result.outcome, result.test) == (CAUGHT, "tests/audit/test_first.py::grades")
        assert (tree / "audit" / "first.py").read_text("utf-8") == CODE

    def test_a_mutant_that_neither_round_notices_survives(self, tree: Path, known: Map) -> None:
        copy = FakeCopy(tree)
        judge = Judge(Nearest(known, sampling.sources(tree)), print)
        mutant = _mutant(tree, "if points >= LEAST and late:")
        assert judge.one(copy, mutant).outcome == SURVIVED
        assert list(map(len, copy.asked)) == [2, 1]

    def test_a_test_that_fails_without_a_mutant_catches_nothing(
        self, tree: Path, known: Map
    ) -> None:
        results = Results(1, tree)
        mutant = _mutant(tree, "if points >= LEAST and late:")
        judge = Judge(Nearest(known, sampling.sources(tree)), print)
        judge.all([FakeCopy(tree, failing="::grades")], [mutant], results)
        assert results.by_id[mutant.id].outcome == SURVIVED
        assert judge.untrusted == {"tests/audit/test_first.py::grades"}

    def test_a_test_that_takes_too_long_is_given_more_time_before_it_counts(
        self, tree: Path, known: Map
    ) -> None:
        class Busy(FakeCopy):
            def test(self, wanted, *_: object, **given: object) -> Session:
                self.asked.append([*wanted, str(given["limit"])])
                late = len(self.asked) == 1
                return Session(caught=wanted[0] if late else None, late=late, passed=1)

        copy = Busy(tree)
        judge = Judge(Nearest(known, sampling.sources(tree)), print)
        assert judge.one(copy, _mutant(tree, "if False:")).outcome == SURVIVED
        first, second, _ = copy.asked
        assert first[:-1] == second[:-1]
        assert float(second[-1]) == 4 * float(first[-1])

    def test_results_are_kept_for_the_next_run(self, tree: Path) -> None:
        Results(1, tree).keep(Result("a", SURVIVED))
        before = Results(1, tree).by_id["a"]
        assert before == Result("a", SURVIVED)
        assert Order(1, 9, again=True).wants(before)
        assert not Order(1, 9, left=True).wants(before)
        assert not Order(1, 9, again=True).wants(Result("b", CAUGHT))


class TestTheReport:
    @pytest.mark.first_case
    @pytest.mark.parametrize(
        ("caught", "equal", "good"), [(93, 0, False), (97, 0, True), (95, 5, True), (94, 6, False)]
    )
    def test_the_lower_bound_of_the_interval_decides_and_equivalents_are_limited(
        self, tree: Path, caught: int, equal: int, good: bool
    ) -> None:
        drawn = (sampling.sample(tree, 1, 500) * 9)[:100]
        drawn = [Mutant(str(n), m.stratum, m.path, m.edit, m.source) for n, m in enumerate(drawn)]
        outcomes = [CAUGHT] * caught + [EQUIVALENT] * equal + [SURVIVED] * (100 - caught - equal)
        results = {str(n): Result(str(n), each) for n, each in enumerate(outcomes)}
        said: list[str] = []
        assert report.print_report(drawn, results, said.append) is good
        low, high = report.interval(caught, 100 - equal)
        assert f"95 % interval {low:.3f} to {high:.3f}" in "\n".join(said)
        assert "\n".join(said).count("survived: ") == 100 - caught - equal

    def test_without_results_the_interval_is_from_0_to_1(self) -> None:
        assert report.interval(0, 0) == (0.0, 1.0)


class TestEquivalentMutants:
    def test_an_entry_is_matched_by_the_code_that_it_changes(self, tree: Path) -> None:
        mutant = _mutant(tree, "rows.total -= 1")
        file = tree / "equivalent.toml"
        text = equivalents.entry(mutant)
        file.write_text(text.replace('reason = ""', 'reason = "no one asks"'), "utf-8")
        assert equivalents.reasons(file) == {equivalents.key(mutant): "no one asks"}

    def test_an_entry_without_a_reason_is_refused(self, tree: Path) -> None:
        file = tree / "equivalent.toml"
        file.write_text(equivalents.entry(_mutant(tree, "rows.total -= 1")), "utf-8")
        with pytest.raises(equivalents.WrongEntryError, match="entry 1: reason is missing"):
            equivalents.reasons(file)

    def test_each_listed_equivalent_mutant_has_a_reason(self) -> None:
        assert all(map(str.strip, equivalents.reasons().values()))

    def test_each_listed_equivalent_mutant_changes_existing_lines_of_a_stratum_module(self) -> None:
        known = {path for stratum in STRATA for path in files(ROOT, stratum)}
        for path, _, before, _ in equivalents.reasons():
            assert path in known
            assert " ".join(before.split()) in " ".join((ROOT / path).read_text("utf-8").split())


def test_only_tests_of_the_product_are_mapped() -> None:
    assert not [path for path in mapping.modules(ROOT) if path.startswith(mapping.ELSEWHERE)]
