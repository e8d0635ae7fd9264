"""`derive_batch`: derives a batch from another one and the labels of its campaigns, by a rule."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.derivation.base import read_options
from annotation.derivation.decisions import ADJUDICATED, TIES
from annotation.derivation.rules import RULES
from annotation.derivation.service import DerivationRequest, derive, rule_called
from annotation.management.base import account_called
from datasets.console import Command as BaseCommand
from datasets.console import batch_called, refusing
from datasets.derivation import DerivationError, Derived
from datasets.lineage import count_lines


def described_options() -> str:
    """Return the options of all rules, for help."""
    descriptions = (
        f"{rule.name}: {', '.join(option.name for option in rule.declared_options)}"
        for rule in RULES.values()
        if rule.declared_options
    )
    return "; ".join(descriptions)


class Command(BaseCommand):
    help = "Derive a batch from another one by a rule, from people's labels or from its own parts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--batch", required=True, metavar="B", help="the source batch")
        parser.add_argument(
            "--from",
            dest="campaigns",
            action="append",
            default=[],
            metavar="C",
            help="a campaign over that batch whose labels decide; may be repeated",
        )
        parser.add_argument("--rule", required=True, metavar="RULE", help=", ".join(RULES))
        parser.add_argument(
            "--decided-by",
            default=ADJUDICATED,
            metavar="WHO",
            help="adjudicated (the Reference where there is one, the majority elsewhere), "
            "majority, unanimous, or the name of one rater",
        )
        parser.add_argument(
            "--ties",
            choices=TIES,
            default=TIES[0],
            help="refuse, drop or keep units that are tied or that nobody labelled",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="K=V",
            help=f"an option of the rule ({described_options()})",
        )
        parser.add_argument("--by", metavar="USER", help="the account that derives the batch")
        parser.add_argument("--output", type=Path, metavar="F", help="write the batch's file, too")
        parser.add_argument(
            "--dry-run", action="store_true", help="store nothing; show what would be kept"
        )

    def run(self, **options: Any) -> None:
        batch = batch_called(options["batch"])
        by = account_called(options["by"]) if options["by"] else None
        with refusing(DerivationError, about=f"Batch {options['name']!r}"):
            rule = rule_called(options["rule"])
            order = DerivationRequest(
                options["name"],
                batch,
                rule.name,
                options["campaigns"],
                options["decided_by"],
                options["ties"],
                read_options(rule, options["set"]),
                by,
            )
            total = batch.counts.get("queries")
            with self.progress("queries", total) as tick:
                derived = derive(order, options["output"], options["dry_run"], tick)
        for line in describe_derivation(derived, rule.name):
            self.say(line)


def describe_derivation(derived: Derived, rule: str) -> Iterator[str]:
    """Yield a derivation's result in words."""
    number = f"{derived.queries} quer{'y' if derived.queries == 1 else 'ies'}"
    if derived.batch is None:
        yield f"Batch {derived.name!r} would have {number}, by {rule}. Nothing is stored."
    elif derived.unchanged:
        yield f"Nothing to do: batch {derived.name!r} exists already, with {number}."
    else:
        yield f"Derived batch {derived.name!r} with {number}, by {rule}."
    counts = derived.tally.as_counts()
    for line in count_lines(counts):
        yield f"{line[:1].upper()}{line[1:]}."
    for what, key, reason in derived.tally.first_left_out:
        yield f"  {key} ({what}): {reason}"
    facts = derived.tally.facts
    if "tokens" in facts:
        yield (
            f"Required: {facts['mean_passages']} passages and {facts['mean_tokens']} tokens per "
            f"query, {facts['most_passages']} and {facts['most_tokens']} at most (tokens are "
            "separated by blanks); every other setting has to keep to this budget."
        )
