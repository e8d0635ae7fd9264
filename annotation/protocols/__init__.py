"""The protocols of the site by name.

Most are declared in a file of `tandem.protocols.shipped`, from which `declared` and `items` make
them. Each folder holds one that needs more than a file can say: its items, guideline and prompt.
`base` joins a declaration to these, and has the texts and units that several share. `schema` is the
form of a campaign's answers, with the descriptions that it finds in the guideline, and `guidelines`
trims a guideline to what is asked. Nothing here imports Django or another app.
"""

from __future__ import annotations

from importlib import import_module

from annotation.protocols.base import Protocol
from annotation.protocols.declared import protocol_of
from tandem.protocols import DECLARATIONS
from tandem.protocols.shipped import FILES


def _protocol(name: str) -> Protocol:
    if name in FILES:
        return protocol_of(FILES[name])
    found: Protocol = import_module(f"annotation.protocols.{name.replace('-', '_')}").PROTOCOL
    return found


PROTOCOLS: dict[str, Protocol] = {name: _protocol(name) for name in DECLARATIONS}
