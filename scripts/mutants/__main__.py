"""The commands of `python -m scripts.mutants`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from scripts.mutants import __doc__ as about
from scripts.mutants import equivalents, mapping, report, running
from scripts.mutants.copies import ROOT
from scripts.mutants.sampling import find
from scripts.mutants.strata import STRATA


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    return int({"map": make_map, "run": run, "file": file, "show": show}[given.command](given))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m scripts.mutants",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = made.add_subparsers(dest="command", required=True)
    one = commands.add_parser("map", help="record which test runs which line")
    one.add_argument(
        "modules", nargs="*", help="test modules to record; default: new and changed ones"
    )
    _workers(one)
    one = commands.add_parser("run", help="run a sample; exit status 1 if too much survives")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--count", type=int, default=300, help="mutants in all strata together")
    only = "only this stratum, with its share of the count; may be repeated"
    one.add_argument(
        "--only", action="append", choices=STRATA, default=[], metavar="STRATUM", help=only
    )
    one.add_argument("--left", action="store_true", help="go on with an interrupted run")
    one.add_argument("--again", action="store_true", help="run the survivors of this seed again")
    _workers(one)
    one = commands.add_parser("file", help="run every mutant of files against test modules")
    one.add_argument("paths", nargs="+", metavar="FILE")
    one.add_argument("--tests", nargs="+", required=True, metavar="MODULE")
    one = commands.add_parser(
        "show", help="print mutants as diffs, with entries for equivalent.toml"
    )
    one.add_argument("ids", nargs="+", metavar="ID")
    return made


def _workers(command: argparse.ArgumentParser) -> None:
    command.add_argument("--workers", type=int, default=2, help="copies that run tests at once")


def make_map(given: argparse.Namespace) -> int:
    mapping.make(given.modules or None, given.workers)
    return 0


def run(given: argparse.Namespace) -> int:
    order = running.Order(
        given.seed, given.count, given.only, given.left, given.again, given.workers
    )
    drawn, results = running.run(order, _say)
    return 0 if report.print_report(drawn, results, _say) else 1


def file(given: argparse.Namespace) -> int:
    return int(running.all_of(given.paths, given.tests, _say) > 0)


def show(given: argparse.Namespace) -> int:
    for name in given.ids:
        mutant = find(ROOT, name)
        if mutant is None:
            print(f"there is no mutant {name}", file=sys.stderr)
            return 2
        print(mutant.diff(), equivalents.entry(mutant), sep="\n", end="\n\n")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
