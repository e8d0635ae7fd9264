"""`python -m benchmarks [--quick] [--only PART] [--output F]`: measure how fast Tandem is."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.scales import FULL, QUICK, Scale
from benchmarks.site import collect_files
from benchmarks.suite import DATABASES, measure, temporary_folder
from benchmarks.table import table

PAGE, JUDGES, STATISTICS = "page", "judges", "statistics"
FILES, SCALE, MEASURES, COVERAGE = "files", "scale", "measures", "coverage"
CROWD, INTERVALS, DURABILITY, PRESETS = "crowd", "intervals", "durability", "presets"
SAVES, PROMISE, DERIVATION = "saves", "promise", "derivation"
DISAGREEMENTS, MEANS, ORDER, REPLACING = "disagreements", "means", "order", "replacing"
TEXTS, NUMBERS, TRUST = "texts", "numbers", "trust"
PARTS = (
    PAGE, JUDGES, STATISTICS, FILES, SCALE, MEASURES, COVERAGE, CROWD, INTERVALS, DURABILITY,
    PRESETS, SAVES, PROMISE, DERIVATION, DISAGREEMENTS, MEANS, ORDER, REPLACING,
    TEXTS, NUMBERS, TRUST,
)  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.only == PAGE:
        return _page(options.output)
    if options.only == JUDGES:
        return _judges(options)
    if options.only == STATISTICS:
        return _statistics(options)
    if options.only == CROWD:
        return _crowd(options)
    if options.only == COVERAGE:
        return _coverage(options)
    if options.only == INTERVALS:
        return _intervals(options)
    if options.only == MEANS:
        return _means(options)
    if options.only == ORDER:
        return _order(options)
    if options.only == MEASURES:
        return _measures(options)
    if options.only == FILES:
        return _files(options)
    if options.only == SCALE:
        return _scale(options)
    if options.only == DERIVATION:
        return _derivation(options)
    if options.only == DISAGREEMENTS:
        return _disagreements(options)
    if options.only == REPLACING:
        return _replacing(options)
    if options.only == SAVES:
        return _saves(options)
    if options.only == PROMISE:
        return _promise(options)
    if options.only == TEXTS:
        return _texts(options)
    if options.only == NUMBERS:
        return _numbers(options)
    if options.only == TRUST:
        return _trust(options)
    if options.only == DURABILITY:
        return _durability(options)
    if options.only == PRESETS:
        return _presets(options)
    scale = QUICK if options.quick else FULL
    names = [options.only] if options.only else ["sqlite"] if options.quick else list(DATABASES)
    result = run(names, scale)
    _write(result, table(result), options.output)
    return 0


def _page(output: Path | None) -> int:
    """Measure the page of one long item, in a separate run, since it needs Chromium."""
    from benchmarks.page import lines, measure_page

    figures = measure_page()
    _write({"machine": machine(), "page": figures}, lines(figures), output)
    return 0


def _judges(options: argparse.Namespace) -> int:
    """Measure the judge engine, in a separate run: it takes a quarter of an hour per database."""
    from benchmarks.judge_cells import lines
    from benchmarks.judge_engine import run_judges

    how = "grid" if options.grid else "tiny" if options.quick else "bars"
    names = [options.database] if options.database else list(DATABASES)
    with temporary_folder() as folder:
        figures = run_judges(names, collect_files(folder), _say, how)
    _write({"machine": machine(), "judges": figures}, lines(figures), options.output)
    return 0


def _statistics(options: argparse.Namespace) -> int:
    """Compare the time of intervals with that of libraries, without a database."""
    from benchmarks.statistics import FULL, QUICK, lines, measure_statistics

    figures = measure_statistics(QUICK if options.quick else FULL)
    _write({"machine": machine(), "statistics": figures}, lines(figures), options.output)
    return 0


def _numbers(options: argparse.Namespace) -> int:
    """Measure how soon the demonstration's reports can be read."""
    from benchmarks.first_numbers import FULL, QUICK, lines, measure_first_numbers

    figures = measure_first_numbers(QUICK if options.quick else FULL)
    _write({"machine": machine(), "numbers": figures}, lines(figures), options.output)
    return 0


def _trust(options: argparse.Namespace) -> int:
    """Simulate false certificates and what is certified; takes minutes, without a database."""
    from benchmarks.trust import FULL, QUICK, lines, measure_trust

    figures = measure_trust(QUICK if options.quick else FULL)
    _write({"machine": machine(), "trust": figures}, lines(figures), options.output)
    return 0


def _crowd(options: argparse.Namespace) -> int:
    """Measure reports of many people and of many labels, without a database."""
    from benchmarks.crowd import FULL, QUICK, lines, measure_crowd

    figures = measure_crowd(QUICK if options.quick else FULL)
    _write({"machine": machine(), "crowd": figures}, lines(figures), options.output)
    return 0


def _coverage(options: argparse.Namespace) -> int:
    """Simulate how often intervals contain the true value; takes minutes, without a database."""
    from benchmarks.coverage import FULL, QUICK, lines, measure_coverage

    figures = measure_coverage(QUICK if options.quick else FULL)
    _write({"machine": machine(), "coverage": figures}, lines(figures), options.output)
    return 0


def _intervals(options: argparse.Namespace) -> int:
    """Simulate coverage and width of resampled intervals, for an hour on one core.

    Results are stored cell by cell, so that an interrupted run continues from its file.
    """
    from benchmarks.deciding import simulate_passing
    from benchmarks.intervals import FULL, QUICK, lines, measure_intervals

    output = options.output or _default_output()

    def keep(figures: dict[str, Any]) -> None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(figures) + "\n", "utf-8")

    decided = simulate_passing(100 if options.quick else 2_000)
    _say("\n".join(decided.lines()))
    known = json.loads(output.read_text("utf-8")) if output.exists() else {}
    runs = QUICK if options.quick else FULL
    figures = measure_intervals(runs, _say, keep, known, options.processes)
    words = "\n".join([lines(figures), "", *decided.lines()])
    found = {"machine": machine(), "intervals": figures, "alternative": decided.as_json()}
    _write(found, words, output)
    return 0


def _means(options: argparse.Namespace) -> int:
    """Simulate coverage and width of intervals of means; takes minutes, without a database."""
    from benchmarks.means import FULL, QUICK, lines, measure_means

    figures = measure_means(QUICK if options.quick else FULL, _say)
    _write({"machine": machine(), "means": figures}, lines(figures), options.output)
    return 0


def _order(options: argparse.Namespace) -> int:
    """Simulate what is said of judges' orders of systems; takes two minutes, without a database."""
    from benchmarks.system_order import FULL, QUICK, lines, measure_order

    figures = measure_order(QUICK if options.quick else FULL)
    _write({"machine": machine(), "order": figures}, "\n".join(lines(figures)), options.output)
    return 0


def _measures(options: argparse.Namespace) -> int:
    """Measure CRUX's measures of a large study, on SQLite."""
    from benchmarks.measures import FULL, QUICK, lines, measure_measures

    figures = measure_measures(QUICK if options.quick else FULL)
    _write({"machine": machine(), "measures": figures}, lines(figures), options.output)
    return 0


def _files(options: argparse.Namespace) -> int:
    """Measure exports and an import of as many labels as requested; a million takes long."""
    from benchmarks.files import FULL, QUICK, lines, run_files

    names = [options.database] if options.database else list(DATABASES)
    labels = options.labels or (QUICK if options.quick else FULL)
    figures = run_files(names, labels, _say)
    _write({"machine": machine(), "files": figures}, lines(figures), options.output)
    return 0


def _scale(options: argparse.Namespace) -> int:
    """Measure pages of a campaign with as many items as requested, on PostgreSQL by default."""
    from benchmarks.scale import FULL, QUICK, lines, run_scale

    items = options.items or (QUICK if options.quick else FULL)
    figures = run_scale([options.database or "postgresql"], items, options.quick, _say)
    _write({"machine": machine(), "scale": figures}, lines(figures), options.output)
    return 0


def _replacing(options: argparse.Namespace) -> int:
    """Simulate what is said of judges that nobody may use, and of good ones, for half an hour."""
    from benchmarks.replacing import FULL, QUICK, lines, measure_gaps, measure_replacing

    runs = QUICK if options.quick else FULL
    answers, gaps = measure_replacing(runs, _say), measure_gaps(runs, _say)
    found = {"machine": machine(), "replacing": answers, "gaps": gaps}
    _write(found, lines(answers, gaps), options.output)
    return 0


def _saves(options: argparse.Namespace) -> int:
    """Measure saves without other requests, and how their time is spent."""
    from benchmarks.saves import FULL, QUICK, lines, measure_saves

    names = [options.database] if options.database else list(DATABASES)
    with temporary_folder() as folder:
        static = collect_files(folder)
        size = QUICK if options.quick else FULL
        figures = {name: measure_saves(name, size, static) for name in names}
    words = "\n\n".join(lines(name, of) for name, of in figures.items())
    _write({"machine": machine(), "saves": figures}, words, options.output)
    return 0


def _promise(options: argparse.Namespace) -> int:
    """Measure how much slower saves are while others load the site, on SQLite by default."""
    from benchmarks.promise import FULL, QUICK, lines, measure_promise

    name = options.database or "sqlite"
    with temporary_folder() as folder:
        static = collect_files(folder)
        figures = measure_promise(name, QUICK if options.quick else FULL, static)
    _write({"machine": machine(), "promise": {name: figures}}, lines(name, figures), options.output)
    return 0


def _texts(options: argparse.Namespace) -> int:
    """Measure how much slower saves are while others open long texts, on SQLite by default."""
    from benchmarks.texts import FULL, QUICK, lines, measure_texts

    name = options.database or "sqlite"
    with temporary_folder() as folder:
        static = collect_files(folder)
        figures = measure_texts(name, QUICK if options.quick else FULL, static)
    _write({"machine": machine(), "texts": {name: figures}}, lines(name, figures), options.output)
    return 0


def _durability(options: argparse.Namespace) -> int:
    """Compare saves that wait for the disk with saves that do not, on SQLite."""
    from benchmarks.durability import FULL, QUICK, lines, measure_durability

    figures = measure_durability(QUICK if options.quick else FULL)
    _write({"machine": machine(), "durability": figures}, lines(figures), options.output)
    return 0


def _presets(options: argparse.Namespace) -> int:
    """Run the example studies from start to end, from an empty folder and database."""
    from benchmarks.example_studies import FULL, QUICK, lines, measure_presets

    figures = measure_presets(QUICK if options.quick else FULL)
    _write({"machine": machine(), "presets": figures}, lines(figures), options.output)
    return 0


def _derivation(options: argparse.Namespace) -> int:
    """Measure a derivation from a million labels, whose import takes long."""
    from benchmarks.derivation import FULL, QUICK, lines, run_derivation

    names = [options.database] if options.database else list(DATABASES)
    names = ["sqlite"] if options.quick and not options.database else names
    figures = run_derivation(names, QUICK if options.quick else FULL, _say)
    _write({"machine": machine(), "derivation": figures}, lines(figures), options.output)
    return 0


def _disagreements(options: argparse.Namespace) -> int:
    """Measure the pages of disagreements over many units."""
    from benchmarks.disagreements import FULL, QUICK, lines, measure_disagreements

    figures = measure_disagreements(QUICK if options.quick else FULL)
    _write({"machine": machine(), "disagreements": figures}, lines(figures), options.output)
    return 0


def _write(result: dict[str, Any], words: str, chosen: Path | None) -> None:
    output = chosen or _default_output()
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    print(words)
    print(f"\nWritten to {output}.")


def run(databases: list[str], scale: Scale) -> dict[str, Any]:
    """Return all figures by database."""
    began = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine()}
    with temporary_folder() as folder:
        static = collect_files(folder)
        figures = {name: measure(name, scale, static, _say) for name in databases}
    return {**began, "scale": scale.as_dict(), "figures": figures}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _default_output() -> Path:
    return ROOT / "var" / "benchmarks" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run on SQLite, in seconds")
    parser.add_argument("--only", choices=[*DATABASES, *PARTS], help="one part")
    parser.add_argument("--grid", action="store_true", help="judges: the larger grid, without bars")
    parser.add_argument(
        "--database", choices=DATABASES, help="judges, files, scale: on one database only"
    )
    parser.add_argument("--items", type=int, metavar="N", help="scale: how many, else 1,000,000")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="intervals: else 1")
    parser.add_argument("--labels", type=int, metavar="N", help="files: how many, else 20,000")
    parser.add_argument("--output", type=Path, metavar="F", help="the JSON; else under var/")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
