"""Whether a certificate says that a judge may decide a share of the cells."""

from __future__ import annotations

from dataclasses import dataclass

from ..types import JSON
from .findings import Finding

STATEMENT = "https://in-toto.io/Statement/v1"


@dataclass(frozen=True)
class Certificate:
    """A certificate, the `name` of where it was read, and the digest from elsewhere, if any."""

    document: JSON
    name: str = ""
    digest: str | None = None


def is_certificate(document: JSON) -> bool:
    return document.get("_type") == STATEMENT


def certified(certificate: Certificate, share: float) -> Finding:
    raise NotImplementedError
