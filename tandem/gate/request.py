"""The options of `tandem gate`, the files that its conditions apply to, and what comes of them."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..arguments import add_label_arguments, levels_of, protocol_in, scales_of
from ..files import names_a_file
from ..labels.file.frames import file_frame
from ..labels.frame import Frame
from ..labels.selection import ALL_LABELS
from ..labels_report import labels_report
from ..trust.compared import HOW_DRAWN
from ..trust.plan import DELTA
from ..types import JSON
from .certified import Claim, certified, claim_of, is_certificate, no_claim
from .figures import Condition, Figures, decide
from .findings import Finding, GateError, as_json, as_junit, as_lines, as_markdown
from .systems import Release, Terms, better, better_in, not_worse


@dataclass(frozen=True)
class Labels:
    """The labels of files or of a campaign, each read when a condition needs it.

    A campaign also has the `claims` of its plans about a judge, by name, and the committed
    `comparison` of two systems, if there is one.
    """

    report: Callable[[], JSON]
    frame: Callable[[], Frame]
    claims: Callable[[str], list[Claim]] = lambda judge: []
    comparison: Callable[[str, str], JSON | None] = lambda new, old: None


OfCampaign = Callable[[str], Labels]


@dataclass(frozen=True)
class Sources:
    """What a command line names: at most one of each."""

    labels: Labels | None = None
    report: JSON | None = None
    comparison: JSON | None = None
    certificate: Claim | None = None

    def whole_report(self) -> JSON:
        """Return the report given, or that of the labels. Raises GateError."""
        if self.report is not None:
            return self.report
        return self.need_labels("--min", "a report or its labels").report()

    def need_labels(self, option: str, what: str) -> Labels:
        """Return the labels. Raises GateError if none are given."""
        if self.labels is None:
            raise GateError(f"{option} needs {what}: name a file, or a campaign.")
        return self.labels


@dataclass(frozen=True)
class Reading:
    """How words are read: labels files with the options of a command line, campaigns by a site."""

    options: Mapping[str, Any]
    of_campaign: OfCampaign

    def sources(self, words: Iterable[str]) -> Sources:
        """Read what the words of a command line name. Raises GateError and InputError."""
        found = Sources()
        files: list[Path] = []
        for word in words:
            if not names_a_file(word):
                found = _with(found, word, labels=self.of_campaign(word))
                continue
            document = _document(Path(word))
            if document is None:
                files.append(Path(word))
            elif is_certificate(document):
                claim = claim_of(document, self.options["digest"])
                found = _with(found, word, certificate=claim)
            elif "pairs" in document:
                found = _with(found, word, comparison=document)
            else:
                found = _with(found, word, report=document)
        if files:
            found = _with(found, str(files[0]), labels=self.files(files))
        return found

    def labels(self, word: str) -> Labels:
        """Return the labels of a file or a campaign."""
        return self.files([Path(word)]) if names_a_file(word) else self.of_campaign(word)

    def files(self, paths: list[Path]) -> Labels:
        levels = levels_of(self.options["level"])
        scales = scales_of(self.options["scale"], levels)
        wide, protocol = self.options["wide"], protocol_in(self.options["protocol"])
        return Labels(
            lambda: labels_report(paths, levels, ALL_LABELS, scales, wide, protocol),
            lambda: file_frame(paths, levels, ALL_LABELS, scales, wide, protocol)[0],
        )


def _with(sources: Sources, word: str, **found: Any) -> Sources:
    (kind,) = found
    if getattr(sources, kind) is not None:
        raise GateError(f"{word} is the second {kind}; a gate reads one.")
    return replace(sources, **found)


def _document(path: Path) -> JSON | None:
    """Return a report, a comparison or a certificate in JSON; None for a labels file."""
    if path.suffix.lower() != ".json":
        return None
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        # The reader of labels says what is wrong.
        return None
    known = isinstance(document, dict) and (
        is_certificate(document)
        or {"pairs", "drawn"} <= document.keys()
        or {"variables", "scores"} <= document.keys()
    )
    return document if known else None


HELP = (
    "Decide conditions of a release, for pipelines: over a report, a comparison or a certificate, "
    "from files or a campaign. Ends with status 0 if all hold, 1 if one fails, and 3 if one is "
    "not decided."
)
INTERVAL, VALUE = "interval", "value"
DRAWN = tuple(how for how in HOW_DRAWN if how != "committed")


def add_arguments(parser: ArgumentParser) -> None:
    """Add all options of the verb."""
    add = parser.add_argument
    add(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="labels files, a report, comparison or certificate in JSON, or the name of a campaign",
    )
    add(
        "--min",
        action="append",
        default=[],
        metavar="CONDITION",
        help="a bound of a figure, such as 'alpha>=.6' or 'VARIABLE.JUDGE.kappa>.5', with >=, >, "
        "<= or <; may be given several times",
    )
    add(
        "--by",
        choices=(INTERVAL, VALUE),
        default=INTERVAL,
        help="what decides a --min: the whole interval (default), or the value alone",
    )
    add("--judge", metavar="JUDGE", help="the judge of --certified")
    add(
        "--certified",
        type=float,
        metavar="SHARE",
        help="the share of the cells that a certificate says --judge may decide, at least",
    )
    add(
        "--digest",
        metavar="SHA256",
        help="the digest of the certificate’s file, known from elsewhere; without it, a "
        "certificate decides nothing",
    )
    _add_comparisons(add)
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML, for the pipeline’s test view")
    add("--markdown", type=Path, metavar="FILE", help="write a table, for pull requests")
    add("--format", choices=("text", "json"), default="text", help="lines, or one JSON object")
    add_label_arguments(parser)


def _add_comparisons(add: Callable[..., Any]) -> None:
    add(
        "--better",
        nargs=2,
        action="append",
        default=[],
        metavar=("NEW", "OLD"),
        help="the system NEW is better than OLD by people’s labels; may be given several times",
    )
    add(
        "--not-worse-than",
        metavar="BASELINE",
        help="the labels’ system is not worse than that of the labels file or campaign BASELINE",
    )
    add("--margin", type=float, metavar="M", help="of --not-worse-than, on a score from 0 to 1")
    add(
        "--systems",
        nargs=2,
        metavar=("NEW", "OLD"),
        help="for --not-worse-than: the systems of the labels and of the baseline; needed only if "
        "there are several",
    )
    add("--score", default="", metavar="NAME", help="compare by this score; else by the only one")
    add(
        "--drawn",
        choices=DRAWN,
        default="unknown",
        help="how the queries that people labelled were drawn: evenly at random (even), every "
        "query (all), or unknown (default): then they are no evidence",
    )
    add(
        "--among",
        type=int,
        metavar="N",
        help="for --drawn even: from how many queries, if the labels do not contain all of them",
    )
    add(
        "--delta",
        type=float,
        default=DELTA,
        metavar="D",
        help="the chance of a wrong --better or --not-worse-than (default: %(default)s)",
    )


def check(options: Mapping[str, Any]) -> None:
    """Check what can be checked before anything is read. Raises GateError."""
    if not (
        options["min"]
        or options["better"]
        or options["not_worse_than"]
        or options["certified"] is not None
    ):
        raise GateError("Give a condition: --min, --certified, --better or --not-worse-than.")
    for one, other in (("not_worse_than", "margin"), ("certified", "judge")):
        if (options[one] is None) != (options[other] is None):
            raise GateError(f"{_option(one)} and {_option(other)} go together.")
    if not 0 <= (options["margin"] or 0) < 1:
        raise GateError("--margin is at least 0 and below 1.")
    if not 0 < (1 if options["certified"] is None else options["certified"]) <= 1:
        raise GateError("--certified is a share above 0, at most 1.")
    if not 0 < options["delta"] < 1:
        raise GateError("--delta is between 0 and 1.")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def findings(options: Mapping[str, Any], reading: Reading) -> list[Finding]:
    """Return what comes of all conditions. Raises GateError, InputError and others of readers."""
    check(options)
    conditions = [Condition.of(text) for text in options["min"]]
    sources = reading.sources(options["sources"])
    return [
        *_of_figures(conditions, sources, options),
        *_of_certificates(sources, options),
        *_of_pairs(sources, options),
        *_of_baseline(sources, options, reading),
    ]


def _of_figures(
    conditions: Sequence[Condition], sources: Sources, options: Mapping[str, Any]
) -> list[Finding]:
    if not conditions:
        return []
    figures = Figures(sources.whole_report())
    by_value = options["by"] == VALUE
    return [found for each in conditions for found in decide(each, figures, by_value)]


def _of_certificates(sources: Sources, options: Mapping[str, Any]) -> list[Finding]:
    judge, share = options["judge"], options["certified"]
    if share is None:
        return []
    claims = [] if sources.certificate is None else [sources.certificate]
    if sources.labels is not None:
        claims += sources.labels.claims(judge)
    elif not claims:
        sources.need_labels("--certified", "a certificate, or the campaign of a plan")
    found = [certified(each, share) for each in claims if each.judge in (judge, "")]
    about = f"; the certificate is about {claims[0].judge}" if claims and not found else ""
    return found or [no_claim(judge, share, f"nothing certifies what {judge} may decide{about}")]


def _terms(options: Mapping[str, Any]) -> Terms:
    return Terms(options["drawn"], options["delta"], options["score"], options["among"])


def _of_pairs(sources: Sources, options: Mapping[str, Any]) -> list[Finding]:
    pairs = [(new, old) for new, old in options["better"]]
    if not pairs:
        return []
    if sources.comparison is not None:
        given = sources.comparison
        return [better_in(given, new, old, options["drawn"]) for new, old in pairs]
    labels = sources.need_labels("--better", "a comparison or labels")
    committed = {pair: labels.comparison(*pair) for pair in pairs}
    found = [better_in(of, *pair, options["drawn"]) for pair, of in committed.items() if of]
    left = [pair for pair, of in committed.items() if not of]
    return [*found, *(better(labels.frame(), left, _terms(options)) if left else ())]


def _of_baseline(sources: Sources, options: Mapping[str, Any], reading: Reading) -> list[Finding]:
    baseline = options["not_worse_than"]
    if baseline is None:
        return []
    labels = sources.need_labels("--not-worse-than", "the labels of the new system")
    new, old = options["systems"] or ("", "")

    def release(frame: Frame, system: str) -> Release:
        return Release.of(frame, options["score"], system)

    return [
        not_worse(
            release(labels.frame(), new),
            release(reading.labels(baseline).frame(), old),
            options["margin"],
            _terms(options),
            baseline,
        )
    ]


def written(found: Sequence[Finding], options: Mapping[str, Any], quiet: bool = False) -> list[str]:
    """Write the files that are asked for, and return what to print; `quiet` keeps what holds back.

    Raises OSError.
    """
    if options["junit"]:
        options["junit"].write_text(as_junit(found), "utf-8")
    if options["markdown"]:
        options["markdown"].write_text(as_markdown(found), "utf-8")
    if options["format"] == "json":
        return [json.dumps(as_json(found), ensure_ascii=False)]
    return as_lines(found, quiet)
