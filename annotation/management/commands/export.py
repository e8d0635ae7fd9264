"""`export`: streams one export, or writes a folder with several."""

from __future__ import annotations

from argparse import ArgumentParser
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.exports.bundles import BUNDLES, Exporting, as_json, bundle_exports, manifest
from annotation.exports.contents import EXPORTS, TABLE, NoExportError, check_exists
from annotation.exports.workbook import UnfitError
from annotation.exports.writers import FORMS
from annotation.management.base import campaign_called, print_bytes, write_file, write_folder
from annotation.models import Campaign
from audit.recording import record
from datasets.console import Command as BaseCommand

BINARY = ("parquet", "xlsx")


class Command(BaseCommand):
    help = (
        "Write an export of a campaign as JSON Lines, CSV, Parquet or xlsx; qrels also in TREC's "
        "format, spans as W3C annotations, all answers as Label Studio's JSON. Or write a "
        "folder: everything, or a dataset with a card."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        parser.add_argument("--what", required=True, choices=sorted({**EXPORTS, **BUNDLES}))
        parser.add_argument(
            "--format",
            choices=sorted(FORMS),
            help="by default jsonl, trec for qrels, jsonld for web-annotations, json for "
            "label-studio; parquet and xlsx need --output",
        )
        parser.add_argument(
            "--bom",
            action="store_true",
            help="begin CSV with a byte order mark, by which Excel recognises UTF-8",
        )
        parser.add_argument(
            "--output",
            type=Path,
            metavar="F",
            help="a file, or a new folder for `all` and `dataset`; standard output by default",
        )
        parser.add_argument(
            "--manifest",
            type=Path,
            metavar="M",
            help="also write a manifest to this file: counts, size, hash, versions",
        )

    def run(self, **options: Any) -> None:
        campaign, what = campaign_called(options["campaign"]), options["what"]
        form, output, manifest_path = options["format"], options["output"], options["manifest"]
        if options["bom"] and (form != "csv" or what in BUNDLES):
            raise CommandError("--bom goes with --format csv and a single export.")
        try:
            if what in BUNDLES:
                self.write_bundle(campaign, what, form, output, manifest_path)
            else:
                begins = BOM_UTF8 if options["bom"] else b""
                self.write_one(campaign, what, form, output, manifest_path, begins)
        except (NoExportError, UnfitError) as error:
            raise CommandError(f"{error}.") from error
        record("export", campaign.pk, ("campaign", campaign.pk), what=what, form=form or "default")

    def write_one(
        self,
        campaign: Campaign,
        what: str,
        form: str | None,
        output: Path | None,
        manifest_path: Path | None,
        begins: bytes,
    ) -> None:
        chosen = form_of(what, form)
        if chosen in BINARY and not output:
            name = FORMS[chosen].label
            raise CommandError(f"{name} is a binary format and cannot be printed; give --output F.")
        check_exists(campaign, what)
        if output:
            with self.progress("lines") as tick:
                one = Exporting(campaign, output.name, what, chosen, tick, begins)
                write_file(output, lambda file: file.writelines(one.pieces()))
        else:
            one = Exporting(campaign, "", what, chosen, begins=begins)
            print_bytes(self.stdout, one.pieces())
        if not one.rows:
            self.stderr.write(f"Campaign {campaign.name!r} has no {what} yet.")
        if manifest_path:
            text = as_json(manifest(campaign, [one.as_exported_file()]))
            write_file(manifest_path, lambda file: file.write(text))

    def write_bundle(
        self,
        campaign: Campaign,
        what: str,
        form: str | None,
        output: Path | None,
        manifest_path: Path | None,
    ) -> None:
        if not output or manifest_path:
            wrong = (
                "has a manifest of its own; leave --manifest out"
                if manifest_path
                else "is a folder"
            )
            raise CommandError(f"The export {what} {wrong}; give --output FOLDER.")
        if form not in (None, *TABLE) or (what == "dataset" and form not in (None, "parquet")):
            forms = "parquet" if what == "dataset" else ", ".join(TABLE)
            raise CommandError(f"--what {what} comes as {forms}; choose another --format.")
        with self.progress("lines") as tick:
            write_folder(output, bundle_exports(campaign, what, form or TABLE[0], tick))


def form_of(what: str, form: str | None) -> str:
    """The form that is asked for, or else the export's first. Raises CommandError."""
    forms = EXPORTS[what].forms
    if form not in (None, *forms):
        raise CommandError(f"{what} comes as {', '.join(forms)}; choose another --format.")
    return form or forms[0]
