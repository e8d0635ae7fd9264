"""Croissant metadata of a release, with the fields for responsible AI (MLCommons, 1.1 and RAI 1.0).

Files are listed with their checksums, and each JSON Lines file is a record set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.release.datasheet import blank
from tandem.statistics import ALPHA
from tandem.types import JSON

CONFORMS = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
TYPES = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".txt": "text/plain",
}
CONTEXT: JSON = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
WHOLE, TEXT = "sc:Integer", "sc:Text"
COLUMN_TYPES = {"replicate": WHOLE}
LABEL_COLUMNS = (
    "campaign",
    "batch",
    "query",
    "item",
    "unit",
    "kind",
    "variable",
    "value",
    "rater",
    "rater_kind",
    "replicate",
)
"""The columns of labels that are in every file."""


@dataclass(frozen=True)
class Released:
    """A file of the release. `columns` are those that every line has."""

    path: str
    bytes: int
    sha256: str
    about: str = ""
    columns: tuple[str, ...] = ()


def croissant(
    about: Mapping[str, Any],
    files: Sequence[Released],
    campaigns: Sequence[JSON],
    licence: str,
    published: str,
) -> JSON:
    """Return the metadata as JSON-LD."""
    name = about.get("title") or about["name"]
    found: JSON = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS),
        "name": about["name"],
        "description": about.get("description") or f"The labels of the study {name}.",
        "license": licence,
        "version": "1.0.0",
        "datePublished": published,
        "citeAs": about.get("citation") or _citation(about, published),
        "creator": [{"@type": "sc:Person", "name": each} for each in _creators(about)],
        "distribution": [_file(each) for each in files],
        "recordSet": [_records(each) for each in files if each.columns],
    }
    if url := about.get("url"):
        found["url"] = url
    return found | dict(_responsible(campaigns))


def _creators(about: Mapping[str, Any]) -> Sequence[str]:
    return about.get("creators") or [blank("creators")]


def _citation(about: Mapping[str, Any], published: str) -> str:
    return (
        f"{', '.join(_creators(about))} ({published[:4]}). {about.get('title') or about['name']}."
    )


def _file(file: Released) -> JSON:
    suffix = file.path[file.path.rfind(".") :]
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": file.about or file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": TYPES.get(suffix, "application/octet-stream"),
        "sha256": file.sha256,
    }


def _records(file: Released) -> JSON:
    name = file.path.removesuffix(".jsonl")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": file.about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "dataType": COLUMN_TYPES.get(column, TEXT),
                "source": {"fileObject": {"@id": file.path}, "extract": {"column": column}},
            }
            for column in file.columns
        ],
    }


def _responsible(campaigns: Sequence[JSON]) -> Iterator[tuple[str, Any]]:
    """Yield the RAI fields: what the database knows, and marked blanks."""
    people = sorted({r["name"] for c in campaigns for r in c["raters"] if r["kind"] == "human"})
    judges = sorted({_judge(r) for c in campaigns for r in c["raters"] if r["kind"] == "judge"})
    yield "rai:dataCollection", blank("how the texts were collected")
    yield "rai:dataCollectionType", ["Manual Human Curator"]
    yield (
        "rai:dataAnnotationProtocol",
        [f"{c['name']}: {c['protocol']}, version {c['protocol_version']}" for c in campaigns],
    )
    yield "rai:dataAnnotationPlatform", ["Tandem"]
    yield "rai:dataAnnotationAnalysis", [*_alphas(campaigns)] or [blank("agreement")]
    yield (
        "rai:annotationsPerItem",
        "; ".join(f"{c['name']}: {c['raters_per_item']}" for c in campaigns),
    )
    yield (
        "rai:annotatorDemographics",
        [f"{len(people)} people under pseudonyms; {blank('languages, background, expertise')}"],
    )
    yield "rai:machineAnnotationTools", judges or ["none"]
    yield (
        "rai:dataLimitations",
        [line for c in campaigns for line in c["warnings"]] or [blank("known limits")],
    )
    yield "rai:dataBiases", [blank("known biases")]
    yield "rai:personalSensitiveInformation", [blank("whether texts are about people")]
    yield "rai:dataUseCases", [blank("uses that it is made for")]
    yield "rai:dataSocialImpact", blank("benefits and risks")
    yield "rai:dataReleaseMaintenancePlan", blank("who corrects errors, and where")


def _judge(rater: JSON) -> str:
    return f"{rater['name']} (a fake, replayed from a file)" if rater["scripted"] else rater["name"]


def _alphas(campaigns: Sequence[JSON]) -> Iterator[str]:
    for campaign in campaigns:
        for name, of in campaign["agreement"].items():
            if (value := of[ALPHA.key]["value"]) is not None:
                yield f"{campaign['name']}, {name}: {ALPHA.name} {value:.3f}"
