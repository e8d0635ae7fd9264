"""A run: each mutant of a sample is put into a copy, and its nearest tests decide."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.mutants import equivalents
from scripts.mutants.copies import Copy, Session, copies
from scripts.mutants.mapping import FOLDER, Map, update
from scripts.mutants.nearest import Nearest
from scripts.mutants.sampling import Mutant, all_mutants, sample, sources

CAUGHT, SURVIVED, EQUIVALENT = "caught", "survived", "equivalent"
PATIENCE = 8  # multiple of a test's mapped duration, in addition to twenty seconds


@dataclass
class Result:
    """The outcome of a mutant, the test that caught it, the number of tests and the seconds."""

    id: str
    outcome: str
    test: str = ""
    how: str = ""
    tests: int = 0
    seconds: float = 0.0


class Results:
    """The results of a seed, in a file, so that an interrupted run can continue."""

    def __init__(self, seed: int, folder: Path = FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"seed-{seed}.json"
        self.lock = threading.Lock()
        self.by_id: dict[str, Result] = {}
        if self.file.exists():
            found = json.loads(self.file.read_text("utf-8"))
            self.by_id = {name: Result(**each) for name, each in found.items()}

    def keep(self, result: Result) -> None:
        with self.lock:
            self.by_id[result.id] = result
            text = json.dumps({name: asdict(each) for name, each in self.by_id.items()}, indent=1)
            new = self.file.with_suffix(".new")
            new.write_text(text, "utf-8")
            new.replace(self.file)


@dataclass
class Order:
    """The options of a run. `left` runs mutants without a result, `again` those that survived."""

    seed: int
    count: int
    only: Sequence[str] = ()
    left: bool = False
    again: bool = False
    workers: int = 2

    def wants(self, before: Result | None) -> bool:
        """Return whether a mutant with this result is to be run."""
        if before is None or before.outcome == EQUIVALENT:
            return True
        return before.outcome == SURVIVED if self.again else not self.left


def run(order: Order, say: Callable[[str], None]) -> tuple[list[Mutant], dict[str, Result]]:
    """Run the sample; return its mutants and results."""
    results = Results(order.seed)
    with copies(order.workers, warm=True) as made:
        root = made[0].root
        known = Map()
        update(known, made, None, say=True)
        for copy in made:
            if problem := copy.migrate().caught:
                raise SystemExit(f"the tests' database cannot be made: {problem}")
        drawn = sample(root, order.seed, order.count, order.only)
        reasons = equivalents.reasons()
        texts = sources(root)
        judge = Judge(Nearest(known, texts), say)
        waiting: list[Mutant] = []
        for mutant in drawn:
            before = results.by_id.get(mutant.id)
            if reason := reasons.get(equivalents.key(mutant)):
                results.keep(Result(mutant.id, EQUIVALENT, how=reason))
            elif order.wants(before):
                waiting.append(mutant)
        judge.all(made, waiting, results)
    return drawn, results.by_id


def all_of(paths: Sequence[str], tests: Sequence[str], say: Callable[[str], None]) -> int:
    """Run every mutant of files against test modules; return how many survive."""
    with copies(1, warm=True) as made, TemporaryDirectory() as folder:
        known = Map(Path(folder, "map.sqlite3"))
        if absent := [each for each in tests if not (made[0].root / each).is_file()]:
            raise SystemExit(f"there is no {', '.join(absent)}")
        update(known, made, tests, say=False)
        texts, reasons = sources(made[0].root), equivalents.reasons()
        judge = Judge(Nearest(known, texts), say)
        survivors = judged = 0
        for mutant in all_mutants(made[0].root, paths):
            if equivalents.key(mutant) in reasons:
                continue
            result = judge.one(made[0], mutant)
            judged += 1
            if result.outcome == SURVIVED:
                survivors += 1
                say(f"survived: {mutant}\n    {result.how}")
        say(f"{survivors} of {judged} survive")
    return survivors


class Judge:
    def __init__(self, nearest: Nearest, say: Callable[[str], None]) -> None:
        self.nearest, self.say = nearest, say
        self.lock = threading.Lock()
        self.untrusted: set[str] = set()  # tests and modules that also fail without a mutant

    def all(self, made: Sequence[Copy], mutants: Sequence[Mutant], results: Results) -> None:
        """Judge mutants, then run the tests that caught them on the unchanged code.

        A test that also fails there has caught nothing; its mutants are judged again without it.
        """
        waiting = list(mutants)
        while waiting:
            self._side_by_side(made, waiting, results)
            guilty = self._failing_anyway(made, [results.by_id[m.id] for m in waiting])
            self.untrusted |= guilty
            for test in sorted(guilty):
                self.say(f"not counted, since it fails without any mutant: {test}")
            waiting = [m for m in waiting if results.by_id[m.id].test in guilty]

    def _side_by_side(
        self, made: Sequence[Copy], mutants: Sequence[Mutant], results: Results
    ) -> None:
        todo: queue.Queue[Mutant] = queue.Queue()
        for mutant in mutants:
            todo.put(mutant)
        began, done = time.monotonic(), 0

        def work(copy: Copy) -> None:
            nonlocal done
            while True:
                try:
                    mutant = todo.get_nowait()
                except queue.Empty:
                    return
                result = self.one(copy, mutant)
                results.keep(result)
                done += 1
                by = f" by {result.test}" if result.test else ""
                minutes = (time.monotonic() - began) / 60
                self.say(
                    f"{done}/{len(mutants)} {minutes:.1f} min {result.outcome} {mutant.id} "
                    f"{mutant.path}:{mutant.line}, {result.tests} tests, {result.seconds:.0f} s{by}"
                )

        threads = [threading.Thread(target=work, args=(copy,)) for copy in made]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def one(self, copy: Copy, mutant: Mutant) -> Result:
        """Run the nearest tests of a mutant, round by round, until one fails."""
        with self.lock:
            rounds = self.nearest.rounds(mutant)
            at_start = self.nearest.at_start(mutant)
        ran, seconds = 0, 0.0
        with copy.mutated(mutant):
            for tests in rounds:
                chosen = [
                    test for test in tests if not self.untrusted & {test, test.partition("::")[0]}
                ]
                if not chosen:
                    continue
                session = self._session(copy, chosen, at_start)
                if session.late:  # an endless loop, or a busy machine
                    session = self._session(copy, chosen, at_start, slowness=4)
                ran, seconds = ran + session.passed, seconds + session.seconds
                if session.caught is not None:
                    return Result(mutant.id, CAUGHT, session.caught, session.how, ran + 1, seconds)
        nearest = next((tests[0] for tests in rounds if tests), "")
        how = f"{ran} tests pass, {nearest} the nearest" if ran else "no test runs it"
        return Result(mutant.id, SURVIVED, how=how, tests=ran, seconds=seconds)

    def _session(
        self, copy: Copy, tests: Sequence[str], at_start: bool, slowness: int = 1
    ) -> Session:
        patience = PATIENCE * slowness
        limits = self.nearest.limits(tests, 20 * slowness, patience)
        limit = 120 * slowness + patience * self.nearest.seconds(tests)
        return copy.test(tests, limits=limits, limit=limit, at_start=at_start)

    def _failing_anyway(self, made: Sequence[Copy], results: Sequence[Result]) -> set[str]:
        """Return the tests that caught a mutant but also fail without one."""
        catching = {each.test for each in results if each.outcome == CAUGHT and "::" in each.test}
        modules = {each.test for each in results if each.outcome == CAUGHT} - catching
        left = sorted(catching)
        guilty: set[str] = set()
        while left:
            session = self._session(made[0], left, False)
            if session.caught not in left:
                break
            guilty.add(session.caught)
            ran = {each["test"] for each in session.log if each["what"] == "passed"}
            left = [test for test in left if test not in ran | guilty]
        for module in sorted(module for module in modules if module.endswith(".py")):
            if made[0].test([f"{module}::none"], [module]).caught is not None:
                guilty.add(module)
        return guilty
