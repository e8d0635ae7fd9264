"""The tests nearest to a mutant: a few seconds of the likeliest, many more, then the rest.

Nearest are the tests that run the mutated line. First come tests that run little else, take little
time and are named after the module; the first case of every test precedes the second of any. For
code that runs only once, at import or into a cache, the tests of the lines that use it count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from scripts.mutants.mapping import START, Map
from scripts.mutants.references import Place, References
from scripts.mutants.sampling import Mutant

FIRST = (40, 20.0)  # tests, seconds
SECOND = (240, 120.0)
THIRD = (
    3000,
    300.0,
)  # of the tests that run the line, so that few mutants survive that a test would catch
BESIDE = 0.4  # the cost of importing a module
OF_MODELS = (
    "tests/test_layout.py::test_migrations_are_up_to_date"  # the declarations in a model's class
)


class Nearest:
    def __init__(self, known: Map, texts: Mapping[str, str]) -> None:
        self.map, self.texts = known, texts
        self.references = References(texts)
        self.tests, self.fixtures = known.costs()
        self.covering: dict[str, dict[str, set[int]]] = {}

    def at_start(self, mutant: Mutant) -> bool:
        """Return whether a mutant's lines run at import or while the test database is migrated."""
        first, last = mutant.edit.around
        return mutant.edit.at_import or any(
            first <= line <= last for line in self._covering(mutant.path).get(START, ())
        )

    def rounds(self, mutant: Mutant) -> list[list[str]]:
        """Return the tests to run in each round; the next round runs only if no test failed."""
        here = self._sorted(mutant, self._running(mutant))
        further = self._sorted(mutant, self._using(mutant) - set(here))
        near = self._sorted(mutant, self._beside(here[:3]) - set(here) - set(further))
        first = self._within(here or further or near, *FIRST)
        left = [test for test in [*here, *further, *near] if test not in set(first)]
        second = self._within(left, *SECOND)
        before = {*first, *second}
        rest = [test for test in here if test not in before]
        return [first, second, self._within(rest, *THIRD)]

    def seconds(self, tests: Iterable[str]) -> float:
        """Return the total duration of tests, including shared fixtures."""
        known = [self.tests[test] for test in tests if test in self.tests]
        shared = {name for _, names, _, _ in known for name in names}
        return sum(each[0] for each in known) + sum(self.fixtures.get(n, 0) for n in shared)

    def limits(self, tests: Iterable[str], least: float, patience: float) -> dict[str, float]:
        """Return the time limit of each test: `patience` times its duration, and `least` more."""
        return {test: least + patience * self.seconds([test]) for test in tests}

    def _covering(self, path: str) -> dict[str, set[int]]:
        if path not in self.covering:
            self.covering[path] = self.map.covering(path, self.texts[path])
        return self.covering[path]

    def _on(self, places: Iterable[Place]) -> set[str]:
        lines: dict[str, set[int]] = {}
        for path, line in places:
            lines.setdefault(path, set()).add(line)
        return {
            test
            for path, numbers in lines.items()
            for test, ran in self._covering(path).items()
            if ran & numbers and test in self.tests
        }

    def _running(self, mutant: Mutant) -> set[str]:
        """Return the tests that run the changed piece, or else its statement."""
        if mutant.edit.at_import:
            own = self._on(self.references.body(mutant.path, mutant.edit.function))
            is_model = "models" in PurePosixPath(mutant.path).with_suffix("").parts
            return own | ({OF_MODELS} & self.tests.keys() if is_model else set())
        for first, last in (mutant.edit.lines, mutant.edit.around):
            if tests := self._on((mutant.path, line) for line in range(first, last + 1)):
                return tests
        return set()

    def _using(self, mutant: Mutant) -> set[str]:
        names = mutant.edit.names[-1:] if not mutant.edit.at_import else mutant.edit.names
        return self._on(self.references.of(mutant.path, names)) if names else set()

    def _beside(self, tests: Iterable[str]) -> set[str]:
        """Return the first tests of the same modules, which set up the shared fixtures."""
        modules = {test.partition("::")[0] for test in tests if self.tests[test][2]}
        return {test for test in self.tests if test.partition("::")[0] in modules}

    def _sorted(self, mutant: Mutant, tests: Iterable[str]) -> list[str]:
        words = set(PurePosixPath(mutant.path).with_suffix("").parts)
        ranked = sorted(tests, key=lambda test: (self._rank(test, words), test))
        cases: Counter[str] = Counter()
        order: list[tuple[int, int, str]] = []
        for number, test in enumerate(ranked):
            function = test.partition("[")[0]
            order.append((cases[function] // 3, number, test))
            cases[function] += 1
        return [test for _, _, test in sorted(order)]

    def _rank(self, test: str, words: set[str]) -> float:
        seconds, names, _, lines = self.tests[test]
        cost = 0.3 + seconds + sum(self.fixtures.get(name, 0) for name in names)
        module = PurePosixPath(test.partition("::")[0])
        alike = module.stem.removeprefix("test_") in words or bool(
            words & set(module.stem.split("_"))
        )
        return (
            cost * (200 + lines) * (0.2 if alike else 1) * (0.7 if words & set(module.parts) else 1)
        )

    def _within(self, tests: Iterable[str], most: int, seconds: float) -> list[str]:
        """Return the first tests that fit into the time, at least one, in the order of their
        modules.
        """
        taken: list[str] = []
        spent, modules, fixtures = 0.0, set[str](), set[str]()
        for test in tests:
            if len(taken) == most:
                break
            own, names, _, _ = self.tests[test]
            module = test.partition("::")[0]
            more = own + sum(self.fixtures.get(n, 0) for n in set(names) - fixtures)
            more += 0 if module in modules else BESIDE
            if taken and spent + more > seconds:
                continue
            spent += more
            modules.add(module)
            fixtures.update(names)
            taken.append(test)
        order = list(dict.fromkeys(test.partition("::")[0] for test in taken))
        return sorted(taken, key=lambda test: order.index(test.partition("::")[0]))
