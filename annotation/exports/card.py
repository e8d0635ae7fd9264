"""The card of a dataset folder, as the Hugging Face hub reads it: YAML first, then words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.declared import declared
from annotation.exports.registry import EXPORTS
from annotation.models import Campaign
from annotation.presenting import schema

SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"),
         (10**7, "1M<n<10M"))  # fmt: skip


def card(campaign: Campaign, manifest: Mapping[str, Any]) -> str:
    """The card of the files that a manifest lists."""
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
    """A string of JSON, one of YAML too once what cannot be seen is escaped."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)


def _size(rows: int) -> str:
    return next((name for limit, name in SIZES if rows < limit), "n>10M")


def _body(campaign: Campaign, manifest: Mapping[str, Any]) -> Iterator[str]:
    counts, made = manifest["counts"], manifest["generated_at"]
    raters = ", ".join(f"{number} {kind}" for kind, number in sorted(counts["raters"].items()))
    title = declared(campaign).title
    yield f"\n# {_inline(campaign.name)}\n"
    yield (
        f"Labels of the campaign {_inline(campaign.name)} over the batch "
        f"{_inline(campaign.batch.name)}, made under the protocol *{title}* "
        f"(`{campaign.protocol}`, version {campaign.protocol_version}). Exported by Tandem "
        f"{manifest['version']} at {made}."
    )
    yield f"\n{counts['items']} items, {counts['units']} units, {counts['labels']} labels, "
    yield f"{counts['spans']} spans; raters: {raters or 'none'}.\n"
    yield "## What was asked\n\n| variable | of a | codes | level |\n| --- | --- | --- | --- |"
    for v in schema(campaign).variables:
        codes = ", ".join(_inline(code).replace("|", "\\|") for code in v.answers)
        yield f"| `{v.name}` | {v.kind} | {codes} | {v.level} |"
    yield "\n## Files\n\n| file | rows | a row is |\n| --- | --- | --- |"
    for file in manifest["files"]:
        yield f"| `{file['path']}` | {file['rows']} | {EXPORTS[file['what']].row} |"
    yield _CLOSING


def _inline(text: str) -> str:
    """A name as code on one line, which no markup in it can leave."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


_CLOSING = """
`manifest.json` has each file's columns, size and SHA-256, and the design of the campaign.

## How to read it

- `labels` has one row a label. Where a rater gave none, `value` is null and `missing` says why; it
  never stands for a category.
- `rater` is a pseudonym, `rater_kind` says human, judge or reference. Labels with `assisted_by`
  were made with a judge's verdict in view, and are not independent of it.
- Spans count Unicode code points, end exclusive: in Python, `text[start:end]` is the quote.
- The columns `meta`, `texts` and `units` are JSON in a string.
- Each configuration has the one split `train`, since a split is a choice of whoever uses the data.

## Before it is published

No licence is named here: add one, and see that the texts may be passed on and that what raters
wrote names nobody."""
