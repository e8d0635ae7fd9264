"""Freeze a study: its batches, labels, judges, reports and measures as a folder for others.

The same state of the database gives the same bytes: no file contains the time when it was written.
Where a time is needed, it is that of the newest answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Q

from analysis.campaigns.evaluators import campaigns_of, check_declared
from analysis.campaigns.reports import campaign_report
from analysis.evaluation.build import measures_report
from analysis.models import Study
from analysis.papers.build import paper_tables
from analysis.papers.index import PAPERS
from analysis.papers.options import table_options
from analysis.papers.rendering import as_markdown as tables_as_markdown
from analysis.release import layout
from analysis.release.asked import item_lines, published_text, sampling_lines, wide_pieces
from analysis.release.croissant import LABEL_COLUMNS, Released, croissant
from analysis.release.datasheet import datasheet
from analysis.release.facts import (
    Licence,
    batch_facts,
    campaign_facts,
    judge_facts,
    protocol_facts,
    used_protocols,
)
from analysis.study import Key, StudyFile
from annotation.exports.bundles import Exporting
from annotation.models import Campaign, ProtocolFile, TrustCertificate
from annotation.presentation import schema
from datasets.derivation import STEP, file_line
from datasets.material import batch_rows
from datasets.models import Batch, Lineage
from judging.manifest import manifest_of
from judging.models import Judge, JudgeRun
from tandem.crosscheck.process import shared_child
from tandem.document import computed_by
from tandem.files.rows import InputError, Place
from tandem.formats.markdown import as_markdown
from tandem.labels.evaluators import EvaluatorError
from tandem.labels.selection import ReportOptions
from tandem.scores.answers.refusals import FILE
from tandem.scores.options import PRESETS, TableOptions
from tandem.trust import check_certificate
from tandem.trust.canonical import canonical
from tandem.types import JSON

Files = Iterator[tuple[str, Iterable[bytes]]]
UNANSWERED = "1970-01-01"
"""The date of a study without any answer."""


def freeze(
    file: StudyFile,
    licence: str = "",
    options: ReportOptions | None = None,
    say: Callable[[str], None] = lambda path: None,
) -> Files:
    """Yield the files of a release, each as its path and its pieces, to be written in this order.

    Raises InputError for a study that was not applied, or that names no licence.
    """
    place = Place(file.path)
    study = Study.objects.filter(name=file.name).first()
    if study is None:
        raise InputError(place, f"study {file.name!r} was not applied", "run study apply first")
    try:
        check_declared(study.evaluators, campaigns_of(study))
    except EvaluatorError as error:
        wrong, _, remedy = str(error).partition("; ")
        raise InputError(place, wrong, remedy) from error
    named = licence or str(file.about.get("licence", ""))
    if not named.strip():
        remedy = 'write licence = "CC-BY-4.0", or yours, in [study]; or give --licence'
        raise InputError(place, "names no licence", remedy)
    return _Release(file, study, Licence(named.strip()), options or ReportOptions(), say).files()


@dataclass
class _Release:
    file: StudyFile
    study: Study
    licence: Licence
    options: ReportOptions
    say: Callable[[str], None]
    released: list[Released] = field(default_factory=list)
    batches: list[JSON] = field(default_factory=list)
    campaigns: list[JSON] = field(default_factory=list)
    judges: list[JSON] = field(default_factory=list)
    tables: list[JSON] = field(default_factory=list)
    certificates: list[JSON] = field(default_factory=list)
    protocols: dict[ProtocolFile, str] = field(default_factory=dict)

    def files(self) -> Files:
        yield self.add(layout.STUDY, [published_text(self.file).encode()], "the study file")
        yield from self.of_batches(self.there("batch", Batch))
        campaigns = self.there("campaign", Campaign)
        yield from self.of_protocols(campaign for _, campaign in campaigns)
        with shared_child():
            yield from self.of_campaigns(campaigns)
        yield from self.of_judges(self.there("judge", Judge))
        yield from self.of_options()
        yield from self.of_tables()
        yield from self.of_certificates(campaigns)
        yield from self.about_all()

    def add(
        self,
        path: str,
        pieces: Iterable[bytes],
        about: str = "",
        columns: tuple[str, ...] = (),
    ) -> tuple[str, Iterable[bytes]]:
        """Return a file whose size and digest are recorded while it is written."""

        def counted() -> Iterator[bytes]:
            self.say(path)
            size, digest = 0, hashlib.sha256()
            for piece in pieces:
                size += len(piece)
                digest.update(piece)
                yield piece
            # An empty file has no columns to read.
            kept = columns if size else ()
            self.released.append(Released(path, size, digest.hexdigest(), about, kept))

        return path, counted()

    def there(self, kind: str, model: Any) -> list[tuple[str, Any]]:
        """Return the parts of a kind in the study file's order, with their folder or file names."""
        stored = {part.name: getattr(part, kind) for part in self.study.parts.filter(kind=kind)}
        names = [part.name for part in self.file.parts if part.key == Key(kind, part.name)]
        plain = layout.folder_names(names)
        return [(plain[name], stored[name]) for name in names if name in stored]

    def of_batches(self, batches: list[tuple[str, Batch]]) -> Files:
        for plain, batch in batches:
            path = f"batches/{plain}.jsonl"
            self.batches.append({**batch_facts(batch), "file": path})
            lines = (file_line(query) for query in batch_rows(batch))
            about = f"the batch {batch.name} in the native format, a line for each query"
            yield self.add(path, lines, about, ("id", "text"))

    def of_protocols(self, campaigns: Iterable[Campaign]) -> Files:
        """Yield the protocols of teams, each with the texts beside it."""
        self.protocols = used_protocols(campaigns)
        for row, path in self.protocols.items():
            yield self.add(path, [row.text.encode()], f"the protocol {row}")
            for name, text in sorted(row.parts.items()):
                beside = f"{path.rpartition('/')[0]}/{name}"
                yield self.add(beside, [text.encode()], f"a text of the protocol {row}")

    def of_campaigns(self, campaigns: list[tuple[str, Campaign]]) -> Files:
        for plain, campaign in campaigns:
            folder, name = f"campaigns/{plain}", campaign.name
            for what, path in (("labels", layout.LABELS), ("responses", layout.RESPONSES)):
                one = Exporting(campaign, path, what, "jsonl")
                about = f"{what} of the campaign {name}, a line for each"
                columns = LABEL_COLUMNS if what == "labels" else ("item", "rater", "rater_kind")
                yield self.add(f"{folder}/{path}", one.pieces(), about, columns)
            about = f"labels of the campaign {name}, a row for each unit"
            yield self.add(f"{folder}/{layout.WIDE}", wide_pieces(campaign), about)
            about = f"items of the campaign {name} with their units, a line for each"
            yield self.add(f"{folder}/{layout.ITEMS}", item_lines(campaign), about, ITEM_COLUMNS)
            about = f"how the queries of the campaign {name} were sampled, a line for each"
            lines = sampling_lines(campaign)
            yield self.add(f"{folder}/{layout.SAMPLING}", lines, about, SAMPLING_COLUMNS)
            guideline = schema(campaign).protocol.guideline.encode()
            yield self.add(f"{folder}/guideline.md", [guideline], "the guideline people read")
            yield from self.numbers_of(campaign, folder)

    def numbers_of(self, campaign: Campaign, folder: str) -> Files:
        own = protocol_facts(campaign, self.protocols)
        facts = {**campaign_facts(campaign), "folder": folder, **own}
        report = _undated(campaign_report(campaign, self.options), facts)
        facts["agreement"] = {name: of["agreement"] for name, of in report["variables"].items()}
        # The raters already say which judges are fakes.
        facts["warnings"] = [
            _warning(each) for each in report["warnings"] if each["code"] != "scripted_judge"
        ]
        self.campaigns.append(facts)
        about = f"of the campaign {campaign.name}"
        yield self.add(f"{folder}/{layout.REPORT}", [_json(report)], f"agreement report {about}")
        yield self.add(f"{folder}/{layout.REPORT_TEXT}", [as_markdown(report).encode()])
        if (measures := self.measures_of(campaign)) is not None:
            content = _json(_undated(measures, facts))
            yield self.add(f"{folder}/{layout.MEASURES}", [content], f"measures {about}")

    def measures_of(self, campaign: Campaign) -> JSON | None:
        """Return a campaign's measures by the study's preset, or None if it has none."""
        preset = self.file.preset if self.file.preset in PRESETS else "tandem"
        try:
            options = TableOptions.of(preset).changed(self.file.options).measures
            found = measures_report(campaign, options, preset, self.options)
        except ValueError:
            return None
        return found if found["measures"] else None

    def of_judges(self, judges: list[tuple[str, Judge]]) -> Files:
        ours = self.study.parts.filter(kind="campaign").values("campaign")
        batches = self.study.parts.filter(kind="batch").values("batch")
        steps = Lineage.objects.filter(batch__in=batches, kind=STEP)
        prepared = [each["name"] for of in steps for each in of.campaigns]
        for plain, judge in judges:
            named = Q(campaign__in=ours) | Q(campaign__name__in=prepared)
            runs = JudgeRun.objects.filter(named, judge=judge).order_by("pk")
            manifests = [manifest_of(run) for run in runs.select_related("campaign", "judge")]
            path = f"judges/{plain}.json"
            self.judges.append({"name": judge.rater.name, "file": path})
            yield self.add(path, [_json(judge_facts(judge, manifests))], "a judge and its runs")

    def of_tables(self) -> Files:
        """Yield the tables of the study's paper."""
        paper = PAPERS.get(self.file.preset)
        if paper is None:
            return
        self.study.options = self.file.options
        try:
            chosen = table_options(paper, self.study, {})
        except ValueError as error:
            raise InputError(Place(self.file.path), f"option: {error}", "correct it") from error
        report = _undated(paper_tables(paper, self.study, chosen, self.options), self.newest())
        path = f"{layout.TABLES}/{paper.name}"
        about = {"paper": paper.name, "file": f"{path}.json", "text": f"{path}.md"}
        self.tables.append({**about, "options": report["changed"]})
        yield self.add(f"{path}.json", [_json(report)], f"the tables of {paper.title}")
        yield self.add(f"{path}.md", [tables_as_markdown(report).encode()])

    def of_certificates(self, campaigns: list[tuple[str, Campaign]]) -> Files:
        """Yield what was certified in the campaigns, and the script that checks it."""
        for plain, campaign in campaigns:
            rows = TrustCertificate.objects.filter(plan__campaign=campaign).order_by("pk")
            for number, row in enumerate(rows, start=1):
                path = f"{layout.CERTIFICATES}/{plain}-{number}.json"
                self.certificates.append({"file": path, "sha256": row.digest})
                about = f"a certificate of the campaign {campaign.name}"
                yield self.add(path, [canonical(row.document)], about)
        if self.certificates:
            script = Path(check_certificate.__file__).read_bytes()
            yield self.add(layout.CHECK_CERTIFICATE, [script], "checks a certificate")

    def of_options(self) -> Files:
        """Yield the list of refusals that the study's options name; a tokenizer stays outside."""
        named = self.file.options.get("refusals", "")
        if named.startswith(FILE):
            content = Path(named.removeprefix(FILE)).read_bytes()
            yield self.add(layout.REFUSALS, [content], "the phrases that decline to answer")

    def newest(self) -> JSON:
        """Return the time of the newest answer."""
        return {"last_answer": max((c["last_answer"] or "" for c in self.campaigns), default="")}

    def about_all(self) -> Files:
        about, licence = self.file.about, self.licence
        last = self.newest()["last_answer"]
        sheet = datasheet(about, self.batches, self.campaigns, licence.text)
        yield self.add(layout.DATASHEET, [sheet.encode()], "the datasheet")
        yield self.add(layout.LICENCE, [f"{licence.text}\n{licence.url}\n".encode()], "the licence")
        facts = {
            "form": layout.FORM,
            "study": self.file.name,
            "study_sha256": self.file.sha256,
            "preset": self.file.preset or None,
            "version": settings.TANDEM_VERSION,
            "commit": settings.TANDEM_COMMIT,
            "newest_answer": last or None,
            "licence": licence.text,
            "batches": self.batches,
            "campaigns": [{k: c[k] for k in _CAMPAIGN_FIELDS} for c in self.campaigns],
            "judges": self.judges,
            "tables": self.tables,
            **({"certificates": self.certificates} if self.certificates else {}),
        }
        yield self.add(layout.FACTS, [_json(facts)], "what the release holds")
        yield self.add(layout.README, [_readme(self.file.about, facts).encode()], "how to read it")
        meta = croissant(
            about, self.released, self.campaigns, licence.url, (last or UNANSWERED)[:10]
        )
        yield self.add(layout.CROISSANT, [_json(meta)])
        yield layout.SUMS, self.sums()

    def sums(self) -> Iterator[bytes]:
        for each in sorted(self.released, key=lambda each: each.path):
            yield f"{each.sha256}  {each.path}\n".encode()


PROTOCOLS_README = "- `protocols/`: protocols of the team, with their guidelines, as it wrote them."
TABLES_README = "- `tables/`: the paper's tables, filled from this study, with their options."
CERTIFICATES_README = (
    f"- `{layout.CERTIFICATES}/`: what a judge may decide, proven by query;\n"
    f"  `python {layout.CHECK_CERTIFICATE} FILE SHA-256` checks one, by its digest from elsewhere."
)
_CAMPAIGN_FIELDS = (
    "name", "protocol", "protocol_version", "protocol_file", "protocol_sha256", "batch", "folder",
    "options", "asks_people", "continues", "created_at", "queries_without_passages", "variables",
    "raters", "counts", "answers_asked", "answers_given",
)  # fmt: skip
ITEM_COLUMNS, SAMPLING_COLUMNS = ("item", "query"), ("query", "role")


def _undated(report: JSON, facts: JSON) -> JSON:
    """Return a report with the time of the newest answer instead of the current time."""
    return report | {"generated_at": facts["last_answer"]}


def _warning(of: JSON) -> str:
    about = ", ".join(filter(None, (of["variable"], of["rater"])))
    return f"{about}: {of['text']}" if about else str(of["text"])


def _json(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"


def _readme(about: Any, facts: JSON) -> str:
    lines = [
        f"# {about.get('title') or about['name']}",
        "",
        f"A release of the study {about['name']!r}, written by {computed_by(facts)}.",
        "",
        f"- `{layout.DATASHEET}`: who labelled, how it was chosen, what was asked, known limits.",
        f"- `{layout.CROISSANT}`: metadata for machines. `{layout.LICENCE}`: the licence.",
        f"- `{layout.STUDY}`: the file that the study was run from.",
        "- `batches/`: queries with all that belongs to them, a line of JSON for each query.",
        f"- `campaigns/NAME/`: `{layout.LABELS}` has a line for each label, `{layout.WIDE}` a row",
        f"  for each unit, `{layout.RESPONSES}` whole answers with the texts that people wrote,",
        f"  `{layout.ITEMS}` items with their units, `{layout.SAMPLING}` the sample of queries,",
        f"  `{layout.REPORT}` the agreement, `{layout.MEASURES}` the measures of systems.",
        "- `judges/`: what each judge is, and the manifests of its runs.",
        *([PROTOCOLS_README] if any(c["protocol_file"] for c in facts["campaigns"]) else []),
        *([TABLES_README] if facts["tables"] else []),
        *([CERTIFICATES_README] if facts.get("certificates") else []),
        "",
        f"`sha256sum -c {layout.SUMS}` checks that the files are as released. `tandem verify",
        "FOLDER` checks this too, that the files agree with each other, and that the numbers",
        "follow from the labels; it needs no database.",
        "",
    ]  # fmt: skip
    return "\n".join(lines)
