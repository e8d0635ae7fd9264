"""The report as JSON: all of it, in full precision. The other formats are made of this."""

from __future__ import annotations

import json

from analysis.formats.base import JSON, Format


def as_json(report: JSON) -> str:
    """The report as `formats` describes it; no NaN, no Infinity."""
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


JSON_FILE = Format("json", "JSON", "json", "application/json", as_json)
