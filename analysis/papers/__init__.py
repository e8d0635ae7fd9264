"""The papers' own tables, filled from a study: `tandem paper NAME --study STUDY`.

A paper is a module here that declares its tables, and a line in `PAPERS`. `material` collects a
study's data for them, `base` defines a table, and `build` and `rendering` create the output.
"""

from analysis.papers import clapnq, crux, garage, long2rag
from analysis.papers.base import Paper

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (crux.PAPER, long2rag.PAPER, garage.PAPER, clapnq.PAPER)
}
"""The papers by the names of their presets."""

__all__ = ["PAPERS", "Paper"]
