"""A figure as PDF: vectors and text, every font embedded, one page as large as the figure."""

from __future__ import annotations

from importlib.util import find_spec

PAGE = b"""\
#set page(width: auto, height: auto, margin: 0pt)
#set document(title: sys.inputs.title, date: none)
#image(bytes(sys.inputs.svg), format: "svg", alt: sys.inputs.title)
"""
"""The title and the drawing are handed over as data, so that nothing in them is run."""


def can_make_pdf() -> bool:
    """Whether the package that makes PDF of SVG is installed."""
    return find_spec("typst") is not None


def as_pdf(svg: str, title: str) -> bytes:
    """A drawing as PDF. Raises ImportError where `typst` is not installed."""
    import typst

    made: bytes = typst.compile(PAGE, sys_inputs={"svg": svg, "title": title}, format="pdf")
    return made
