"""The protocols of the site by name. A new one is a declaration in `tandem.protocols` and a folder.

`base` joins a declaration to its items, guideline and prompt. Each folder holds one protocol, and
`units` the texts and units that several share. `schema` is the form of a campaign's answers, with
the descriptions that `criteria` finds in the guideline, and `guidelines` trims a guideline to what
is asked. Nothing here imports Django or another app.
"""

from __future__ import annotations

from importlib import import_module

from annotation.protocols.base import Protocol
from tandem.protocols import DECLARATIONS

PROTOCOLS: dict[str, Protocol] = {
    name: import_module(f"annotation.protocols.{name.replace('-', '_')}").PROTOCOL
    for name in DECLARATIONS
}
