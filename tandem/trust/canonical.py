"""The canonical JSON of plans and certificates, and its digest.

Keys are sorted, nothing is blank, and text is UTF-8, so that any language gives the same bytes.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any


def canonical(document: Any) -> bytes:
    """Return the canonical bytes of a document. Raises ValueError for NaN and infinities."""
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def digest_of(document: Any) -> str:
    """Return the SHA-256 of the canonical bytes, in hexadecimal digits."""
    return sha256(canonical(document)).hexdigest()
