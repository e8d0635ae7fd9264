"""All generated pages, by their path in the site."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from annotation.protocols import PROTOCOLS
from docs._reference import (
    api,
    commands,
    formats,
    protocol_file,
    protocols,
    settings,
    statistics,
)
from docs._reference.words import ROOT

FOLDER = "reference"


def pages() -> dict[str, Callable[[], str]]:
    """Return the function that writes each page, in the order of the navigation."""
    found = {
        f"{FOLDER}/commands.md": commands.write,
        f"{FOLDER}/settings.md": settings.write,
        f"{FOLDER}/formats.md": formats.write,
        f"{FOLDER}/protocol-file.md": protocol_file.write,
        f"{FOLDER}/statistics.md": statistics.write,
        f"{FOLDER}/api.md": api.write,
        f"{FOLDER}/changes.md": write_changes,
        f"{FOLDER}/protocols/index.md": protocols.write_list,
    }
    each = {name: partial(protocols.write, protocol) for name, protocol in PROTOCOLS.items()}
    return found | {f"{FOLDER}/protocols/{name}.md": write for name, write in each.items()}


def write_changes() -> str:
    """Return the changelog with a sentence that says whom it is for."""
    whom = "For everybody who upgrades: what each release changed."
    title, _, rest = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("\n")
    return f"{title}\n\n{whom}\n{rest}"


def navigation() -> list[dict[str, object]]:
    """Return the reference part of the navigation. A page's title is its first heading."""
    protocols_alone = [path for path in pages() if path.startswith(f"{FOLDER}/protocols/")]
    others = [path for path in pages() if path not in protocols_alone]
    listed: list[dict[str, object]] = [{_title(path): path} for path in others]
    return [*listed, {"Protocols": protocols_alone}]


def _title(path: str) -> str:
    name = path.rpartition("/")[2].removesuffix(".md")
    return "HTTP API" if name == "api" else name.replace("-", " ").capitalize()
