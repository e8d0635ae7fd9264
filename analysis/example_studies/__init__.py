"""Presets: studies like those of the papers, on made-up data, which run without changes.

A preset is one module and one line here. `files` returns a folder's files, README included.
"""

from __future__ import annotations

from analysis.example_studies.base import Preset, readme
from analysis.example_studies.clapnq import PRESET as CLAPNQ
from analysis.example_studies.crux import PRESET as CRUX
from analysis.example_studies.garage import PRESET as GARAGE
from analysis.example_studies.long2rag import PRESET as LONG2RAG

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (CRUX, LONG2RAG, GARAGE, CLAPNQ)}


def files(preset: str, study: str) -> dict[str, str]:
    """Return the files of a new study of this name: their text by path."""
    chosen = PRESETS[preset]
    return {"README.md": readme(chosen, study), **chosen.build(study)}


__all__ = ["PRESETS", "Preset", "files"]
