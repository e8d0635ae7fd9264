"""The protocols of Tandem that a file can declare, each with its guideline and prompt beside it."""

from __future__ import annotations

from pathlib import Path

from tandem.protocols.protocol_file import ProtocolFile, read_shipped

FILES: dict[str, ProtocolFile] = {
    path.stem: read_shipped(path) for path in sorted(Path(__file__).parent.glob("*.toml"))
}
"""The files by the name of their protocol."""
