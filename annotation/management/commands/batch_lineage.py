"""`batch_lineage`: shows how a batch was created, back to the files."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from datasets.access import describe_owner
from datasets.console import Command as BaseCommand
from datasets.console import batch_called
from datasets.lineage import as_tree, tree_lines


class Command(BaseCommand):
    help = "Show where a batch comes from: rules, campaigns and files, and whether it is behind."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("batch", metavar="BATCH")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def run(self, **options: Any) -> None:
        batch = batch_called(options["batch"])
        if options["format"] == "json":
            self.stdout.write(json.dumps(as_tree(batch), ensure_ascii=False, indent=2))
            return
        if owner := describe_owner(batch):
            self.stdout.write(owner)
        for line in tree_lines(batch):
            self.stdout.write(line)
