"""Export options of a campaign, archives of several exports, and the job of an export.

Files are produced one after the other, and each must be read to its end before the next. The
manifest lists the files with campaign, batch, version and time. The card of a dataset folder has
the form that the Hugging Face hub reads: YAML first, then text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import Count, Max
from django.forms.models import model_to_dict
from django.utils import timezone
from django.utils.text import slugify

from annotation.counters import numbers
from annotation.exports.contents import EXPORTS, TABLE, NoExportError, check_exists, exports_of
from annotation.exports.qrels import NoGradesError
from annotation.exports.workbook import UnfitError
from annotation.exports.writers import FORMS, Subject
from annotation.exports.zip import stream_zip
from annotation.exposure.ledger import is_collecting, saw_answers
from annotation.models import Assignment, Campaign, Label, Rater, Response, Span, Unit
from annotation.presentation import schema
from annotation.registry import get_protocol
from annotation.trust.roles import without_certify
from audit.models import Event
from datasets.work import JobError, Options, Progress, Result

SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
)


def card(campaign: Campaign, manifest: Mapping[str, Any]) -> str:
    """Return the card for the files in a manifest."""
    return "\n".join((*_head(campaign, manifest), *_body(campaign, manifest), ""))


def _head(campaign: Campaign, manifest: Mapping[str, Any]) -> Iterator[str]:
    files = manifest["files"]
    first = next((file for file in files if file["what"] == "labels"), None)
    yield "---"
    yield f"pretty_name: {_quoted(campaign.name)}"
    yield "tags:"
    yield from (f"- {tag}" for tag in ("rag-evaluation", "annotation", campaign.protocol))
    yield "size_categories:"
    yield f"- {_size(first['rows'] if first else 0)}"
    yield "configs:"
    for file in files:
        yield f"- config_name: {file['what']}"
        if file is first:
            yield "  default: true"
        yield "  data_files:"
        yield "  - split: train"
        yield f"    path: {file['path']}"
    yield "---"


def _quoted(text: str) -> str:
    """Return a JSON string, which is also valid YAML once unprintable characters are escaped."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)


def _size(rows: int) -> str:
    return next((name for limit, name in SIZES if rows < limit), "n>10M")


def _body(campaign: Campaign, manifest: Mapping[str, Any]) -> Iterator[str]:
    counts, made = manifest["counts"], manifest["generated_at"]
    raters = ", ".join(f"{number} {kind}" for kind, number in sorted(counts["raters"].items()))
    title = get_protocol(campaign).title
    yield f"\n# {_inline(campaign.name)}\n"
    yield (
        f"Labels of the campaign {_inline(campaign.name)} over the batch "
        f"{_inline(campaign.batch.name)}, given under the protocol *{title}* "
        f"(`{campaign.protocol}`, version {campaign.protocol_version}). Exported by Tandem "
        f"{manifest['version']} at {made}."
    )
    yield f"\n{counts['items']} items, {counts['units']} units, {counts['labels']} labels, "
    yield f"{counts['spans']} spans; raters: {raters or 'none'}.\n"
    if fakes := manifest.get("scripted_judges"):
        named = ", ".join(map(_inline, fakes))
        yield f"Labels from {named} are fakes: replayed from a file, not given by a model.\n"
    yield "## What was asked\n\n| variable | of a | codes | level |\n| --- | --- | --- | --- |"
    for v in schema(campaign).variables:
        codes = ", ".join(_inline(code).replace("|", "\\|") for code in v.answers_in_brief)
        codes = f"any of {codes}" if v.several else codes
        yield f"| `{v.name}` | {v.kind} | {codes} | {v.level} |"
    yield "\n## Files\n\n| file | rows | a row is |\n| --- | --- | --- |"
    for file in manifest["files"]:
        yield f"| `{file['path']}` | {file['rows']} | {EXPORTS[file['what']].row} |"
    yield _CLOSING


def _inline(text: str) -> str:
    """Return a name as inline code, so that markup in it has no effect."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


_CLOSING = """
`manifest.json` has each file's columns, size and SHA-256, and the design of the campaign.

## How to read it

- `labels` has one row per label. If a rater gave none, `value` is null and `missing` says why. A
  missing label is never a category.
- `rater` is a pseudonym, and `rater_kind` is human, judge or reference. People who gave labels with
  `assisted_by` saw that judge's label, so these labels are not independent of it. Before they gave
  labels with `exposed`, people could see others' labels on the same unit.
- Spans count Unicode code points, end exclusive: in Python, `text[start:end]` is the quote.
- The columns `meta`, `texts` and `units` are JSON in a string.
- Each configuration has the single split `train`, since users of the data choose splits.

## Before it is published

No licence is named here: add one. Check that the texts may be published, and that nothing written
by raters identifies a person."""


Tick = Callable[[int], None]


@dataclass(frozen=True)
class ExportedFile:
    """A written file. `defused` if cells that a spreadsheet would run as formulas are quoted."""

    path: str
    what: str
    form: str
    rows: int
    bytes: int
    sha256: str
    columns: tuple[str, ...]
    defused: bool


class Exporting:
    """One file being written: its pieces, which can be read once, and then its description."""

    def __init__(
        self,
        campaign: Campaign,
        path: str,
        what: str,
        form: str,
        tick: Tick = lambda rows: None,
        begins: bytes = b"",
    ) -> None:
        """`begins` are the first bytes of the file, such as a byte order mark."""
        self.campaign, self.path, self.what, self.form = campaign, path, what, form
        self.begins = begins
        self.rows = self.bytes = 0
        _note(campaign, what)
        self._tick, self._hash = tick, hashlib.sha256()

    def pieces(self) -> Iterator[bytes]:
        """Yield the file in pieces. Raises NoGradesError or UnfitError, like its export or form."""
        export = EXPORTS[self.what]
        subject = Subject(self.what, export.columns_for(self.campaign), self.campaign.name)
        lines = self._count_rows(export.lines(self.campaign))
        written = FORMS[self.form].write(subject, lines)
        for piece in chain([self.begins] if self.begins else [], written):
            self.bytes += len(piece)
            self._hash.update(piece)
            yield piece

    def as_exported_file(self) -> ExportedFile:
        return ExportedFile(
            self.path,
            self.what,
            self.form,
            self.rows,
            self.bytes,
            self._hash.hexdigest(),
            EXPORTS[self.what].columns_for(self.campaign),
            self.form == "csv",
        )

    def _count_rows(self, lines: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for line in lines:
            self.rows += 1
            self._tick(self.rows)
            yield line


def manifest(campaign: Campaign, files: list[ExportedFile]) -> dict[str, Any]:
    """Return the manifest of some files, with counts from the database at this moment."""
    guideline, batch = schema(campaign).protocol.guideline, campaign.batch
    return {
        "version": settings.TANDEM_VERSION,
        "generated_at": timezone.now().isoformat(),
        "campaign": {
            "name": campaign.name,
            "protocol": campaign.protocol,
            "protocol_version": campaign.protocol_version,
            "protocol_sha256": campaign.protocol_file and campaign.protocol_file.digest,
            "guideline_sha256": hashlib.sha256(guideline.encode("utf-8")).hexdigest(),
            "raters_per_item": campaign.raters_per_item,
            "overlap": campaign.overlap,
            "human_share": campaign.human_share,
            "seed": campaign.seed,
            "options": campaign.options,
        },
        "batch": {"name": batch.name, "format": batch.format, "digest": batch.digest},
        "counts": counts(campaign),
        "scripted_judges": scripted_judges(campaign),
        "files": [asdict(file) for file in files],
    }


def counts(campaign: Campaign) -> dict[str, Any]:
    """Count the parts of a campaign, and its raters by kind. Trials are left out."""
    current = Response.objects.filter(current=True, assignment__item__campaign=campaign).exclude(
        assignment__rater__kind=Rater.Kind.TRIAL
    )
    current = without_certify(current, campaign, "assignment")
    done = Assignment.objects.filter(item__campaign=campaign, status="done").order_by()
    kinds = done.exclude(rater__kind=Rater.Kind.TRIAL).values_list("rater__kind")
    return {
        "items": campaign.items.count(),
        "units": Unit.objects.filter(item__campaign=campaign).count(),
        "responses": current.count(),
        "labels": Label.objects.filter(response__in=current).count(),
        "spans": Span.objects.filter(label__response__in=current).count(),
        "raters": dict(kinds.annotate(raters=Count("rater", distinct=True))),
    }


def scripted_judges(campaign: Campaign) -> list[str]:
    """Return the names of the judges that replayed a file, which are fakes."""
    fakes = Rater.objects.filter(judge__backend="scripted", assignments__item__campaign=campaign)
    return list(fakes.order_by("name").values_list("name", flat=True).distinct())


MANIFEST = "manifest.json"
CARD = "README.md"
Pieces = Iterator[bytes]


@dataclass(frozen=True)
class Bundle:
    """Several exports in one archive. `plan(campaign, form)` yields path, export and form."""

    label: str
    plan: Callable[[Campaign, str], Iterator[tuple[str, str, str]]]
    has_card: bool = False


def _all(campaign: Campaign, form: str) -> Iterator[tuple[str, str, str]]:
    """Yield every export in this form, or in its first form if it does not have this one."""
    for what, export in exports_of(campaign).items():
        chosen = form if form in export.forms else export.forms[0]
        yield f"{what}.{FORMS[chosen].suffix}", what, chosen


def _dataset(campaign: Campaign, form: str) -> Iterator[tuple[str, str, str]]:
    for what, export in exports_of(campaign).items():
        if export.is_table and not export.personal:
            yield f"data/{what}.parquet", what, "parquet"


BUNDLES = {
    "all": Bundle("everything, in a folder", _all),
    "dataset": Bundle("a dataset folder: Parquet and a card", _dataset, has_card=True),
}


def bundle_exports(
    campaign: Campaign, name: str, form: str, tick: Tick = lambda rows: None
) -> Iterator[tuple[str, Pieces]]:
    """Yield the files of a bundle as path and pieces: its exports, its card, and its manifest.

    Raises UnfitError if a content does not fit a file's form.
    """
    bundle, files = BUNDLES[name], list[ExportedFile]()
    for path, what, chosen in bundle.plan(campaign, form):
        so_far = _after(sum(file.rows for file in files), tick)
        one = Exporting(campaign, path, what, chosen, so_far)
        yield path, one.pieces()
        files.append(one.as_exported_file())
    listed = manifest(campaign, files)
    if bundle.has_card:
        yield CARD, iter([card(campaign, listed).encode("utf-8")])
    yield MANIFEST, iter([as_json(listed)])


def _after(before: int, tick: Tick) -> Tick:
    """Return a tick for one of several files, which adds the lines of the files before it."""
    return lambda rows: tick(before + rows)


def as_json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


ZIP = "application/zip"


@dataclass(frozen=True)
class ExportOption:
    """One export or bundle of a campaign, with its forms."""

    what: str
    row: str
    forms: tuple[str, ...]

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """The forms, each with its label."""
        return [(form, FORMS[form].label) for form in self.forms]


@dataclass(frozen=True)
class Download:
    """A file to be sent, in pieces."""

    name: str
    media_type: str
    pieces: Iterator[bytes]


def export_options(campaign: Campaign) -> list[ExportOption]:
    return [
        *(ExportOption(name, each.row, each.forms) for name, each in exports_of(campaign).items()),
        *(ExportOption(name, each.label, forms_of(name)) for name, each in BUNDLES.items()),
    ]


def forms_of(bundle: str) -> tuple[str, ...]:
    return ("parquet",) if BUNDLES[bundle].has_card else TABLE


def _note(campaign: Campaign, what: str) -> None:
    """Note a look at the answers of an export or a bundle in the ledger."""
    if is_collecting() and (what in BUNDLES or EXPORTS[what].answers):
        counted = numbers(campaign)
        units = counted.get("units/drawn", 0) + counted.get("units/pending", 0)
        saw_answers("export", campaign, number=units)


def expected_lines(campaign: Campaign, what: str, form: str) -> int:
    """Return about how many lines an export or a bundle has, for its progress; 0 if unknown."""
    parts = [what]
    if what in BUNDLES:
        parts = [part for _, part, _ in BUNDLES[what].plan(campaign, form)]
    counted = [EXPORTS[part].counted for part in parts if EXPORTS[part].counted]
    known = counts(campaign) if counted else {}
    return sum(known[name] for name in counted)


def reveals_answers(what: str) -> bool:
    return what in BUNDLES or EXPORTS[what].tells_answers


def download(campaign: Campaign, what: str, form: str, tick: Tick = lambda rows: None) -> Download:
    """Return the file of an export option. A bundle is a ZIP archive.

    Raises KeyError if the campaign has no such option. Raises NoExportError if it has nothing to
    export, and BlankError before anything is sent.
    """
    option = {each.what: each for each in export_options(campaign)}[what]
    if form not in option.forms:
        raise KeyError(form)
    stem = f"{slugify(campaign.name) or 'campaign'}-{campaign.pk}-{what}"
    if what in BUNDLES:
        # Noted at once, since the files are read only while they are sent.
        _note(campaign, what)
        return Download(f"{stem}.zip", ZIP, stream_zip(bundle_exports(campaign, what, form, tick)))
    check_exists(campaign, what)
    if form == "trec":
        # Write the whole file once, since an error cannot be sent after the first piece.
        for _ in Exporting(campaign, stem, what, form).pieces():
            pass
    chosen = FORMS[form]
    pieces = Exporting(campaign, stem, what, form, tick).pieces()
    return Download(f"{stem}.{chosen.suffix}", chosen.media_type, pieces)


EXPORT = "export"


def question(campaign: Campaign, what: str, form: str) -> dict[str, Any]:
    """Return the question of an export, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "what": what, "form": form}


def _campaign(options: Options) -> Campaign:
    return Campaign.objects.select_related("batch", "practice_of").get(pk=options["campaign"])


def state(options: Options) -> Any:
    """Return what exports depend on.

    Answers of other campaigns over the batch decide which units are asked. Changes other than
    answers are in the audit trail.
    """
    campaign = _campaign(options)
    answers = Response.objects.filter(
        current=True, assignment__item__campaign__batch=campaign.batch_id
    )
    assignments = Assignment.objects.filter(item__campaign=campaign).order_by()
    raters = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    changes = Event.objects.filter(campaign=campaign.pk).exclude(event="export")
    return [
        settings.TANDEM_VERSION,
        model_to_dict(campaign),
        [campaign.batch.name, campaign.batch.digest],
        answers.aggregate(number=Count("pk"), newest=Max("pk"), at=Max("created_at")),
        sorted(
            assignments.values_list("rater", "status", "reason", "assisted_by").annotate(
                number=Count("pk")
            ),
            key=str,
        ),
        list(raters.order_by("pk").values_list("pk", "name", "kind")),
        changes.aggregate(newest=Max("pk")),
    ]


def carry_out(options: Options, progress: Progress) -> Result:
    """Return an export as a file. Progress counts lines of an estimated total. Raises JobError."""
    campaign, what, form = _campaign(options), options["what"], options["form"]
    total = expected_lines(campaign, what, form)
    try:
        # Missing labels have lines, too, so there may be more than expected.
        file = download(
            campaign, what, form, lambda rows: progress(rows, max(rows, total) if total else 0)
        )
        return Result(_as_job_errors(file.pieces), file.name, file.media_type)
    except (UnfitError, KeyError, NoExportError) as error:
        raise JobError(str(error)) from error


def _as_job_errors(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises JobError for a content that does not fit into the file's form."""
    try:
        yield from pieces
    except (UnfitError, NoGradesError) as error:
        raise JobError(str(error)) from error
