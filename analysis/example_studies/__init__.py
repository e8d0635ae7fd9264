"""Example studies: like those of the papers, on made-up data, which run without changes.

An example is one module and one line here. `files` returns a folder's files, README included.
"""

from __future__ import annotations

from analysis.example_studies.base import ExampleStudy, readme
from analysis.example_studies.clapnq import EXAMPLE as CLAPNQ
from analysis.example_studies.crux import EXAMPLE as CRUX
from analysis.example_studies.garage import EXAMPLE as GARAGE
from analysis.example_studies.long2rag import EXAMPLE as LONG2RAG
from analysis.example_studies.trec_nuggets import EXAMPLE as TREC_NUGGETS

EXAMPLES: dict[str, ExampleStudy] = {
    example.name: example for example in (CRUX, LONG2RAG, GARAGE, CLAPNQ, TREC_NUGGETS)
}


def files(example: str, study: str) -> dict[str, str]:
    """Return the files of a new study of this name: their text by path."""
    chosen = EXAMPLES[example]
    return {"README.md": readme(chosen, study), **chosen.build(study)}


__all__ = ["EXAMPLES", "ExampleStudy", "files"]
