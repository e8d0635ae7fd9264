"""A signature beside a certificate: a DSSE envelope by HMAC-SHA-256 or Ed25519.

Source: Dead Simple Signing Envelope 1.0. Ed25519 needs the package `cryptography`; HMAC needs a
key that issuer and reader share.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any

from ..types import JSON
from .canonical import canonical

PAYLOAD, FEWEST_BYTES = "application/vnd.in-toto+json", 32
PEM = b"-----BEGIN "


class SignatureError(ValueError):
    """A key cannot be used, or a signature is not by it. The message says which."""


def sign(document: JSON, key: bytes) -> JSON:
    """Return the envelope of a certificate. `key` is an Ed25519 key in PEM, else an HMAC key."""
    content = canonical(document)
    message = _encoded(content)
    signature = _ed25519(key).sign(message) if key.startswith(PEM) else _hmac(key, message)
    return {
        "payloadType": PAYLOAD,
        "payload": b64encode(content).decode(),
        "signatures": [{"keyid": key_id(key), "sig": b64encode(signature).decode()}],
    }


def check_signature(document: JSON, envelope: Any, key: bytes) -> None:
    """Raise SignatureError unless the envelope is of this certificate, and signed by the key.

    `key` is a public Ed25519 key in PEM, or the HMAC key.
    """
    content = canonical(document)
    try:
        same = envelope["payloadType"] == PAYLOAD
        same = same and b64decode(envelope["payload"], validate=True) == content
        signatures = [b64decode(each["sig"], validate=True) for each in envelope["signatures"]]
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureError(f"it is not an envelope: {error!r}") from error
    if not same:
        raise SignatureError("the envelope is of another certificate")
    message = _encoded(content)
    if not any(_is_by(each, message, key) for each in signatures):
        raise SignatureError("no signature is by this key")


def key_id(key: bytes) -> str:
    """Return the SHA-256 of a public key, or nothing for an HMAC key, which nobody shall guess."""
    if not key.startswith(PEM):
        return ""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = _public(key)
    raw: bytes = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return sha256(raw).hexdigest()


def _encoded(content: bytes) -> bytes:
    """Return the bytes that are signed (the pre-authentication encoding of DSSE)."""
    kind = PAYLOAD.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(content), content)


def _is_by(signature: bytes, message: bytes, key: bytes) -> bool:
    if not key.startswith(PEM):
        return hmac.compare_digest(signature, _hmac(key, message))
    from cryptography.exceptions import InvalidSignature

    try:
        _public(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _hmac(key: bytes, message: bytes) -> bytes:
    if len(key) < FEWEST_BYTES:
        raise SignatureError(f"an HMAC key has at least {FEWEST_BYTES} bytes, and not {len(key)}")
    return hmac.new(key, message, sha256).digest()


def _ed25519(key: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(key, None)
    except (ValueError, TypeError) as error:
        raise SignatureError("the key is no private key in PEM without a password") from error
    if not isinstance(found, Ed25519PrivateKey):
        raise SignatureError("the key is not one of Ed25519")
    return found


def _public(key: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if b"PRIVATE" in key.partition(b"\n")[0]:
        return _ed25519(key).public_key()
    try:
        found = load_pem_public_key(key)
    except ValueError as error:
        raise SignatureError("the key is no public key in PEM") from error
    if not isinstance(found, Ed25519PublicKey):
        raise SignatureError("the key is not one of Ed25519")
    return found
