"""A signature beside a certificate proves who issued it."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tandem.trust.canonical import canonical
from tandem.trust.envelope import SignatureError, check_signature, sign

DOCUMENT, SHARED = {"share": 0.5, "name": "ü"}, b"k" * 32


def pair() -> tuple[bytes, bytes]:
    private = Ed25519PrivateKey.generate()
    return (
        private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )


def test_an_hmac_is_over_the_kind_and_the_bytes_as_dsse_says() -> None:
    content = canonical(DOCUMENT)
    kind = b"application/vnd.in-toto+json"
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(content), content)
    envelope = sign(DOCUMENT, SHARED)
    by_hand = hmac.new(SHARED, message, sha256).digest()
    assert b64decode(envelope["signatures"][0]["sig"]) == by_hand
    assert b64decode(envelope["payload"]) == content
    check_signature(DOCUMENT, envelope, SHARED)


def test_ed25519_is_checked_by_the_public_key_alone() -> None:
    private, public = pair()
    check_signature(DOCUMENT, sign(DOCUMENT, private), public)
    with pytest.raises(SignatureError, match="by this key"):
        check_signature(DOCUMENT, sign(DOCUMENT, private), pair()[1])


def test_a_public_key_is_never_taken_for_a_shared_one() -> None:
    public = pair()[1]
    content = canonical(DOCUMENT)
    kind = b"application/vnd.in-toto+json"
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(content), content)
    forged = sign(DOCUMENT, SHARED)
    by_public = hmac.new(public, message, sha256).digest()
    forged["signatures"][0]["sig"] = b64encode(by_public).decode()
    with pytest.raises(SignatureError, match="by this key"):
        check_signature(DOCUMENT, forged, public)


def test_what_is_signed_is_this_certificate() -> None:
    with pytest.raises(SignatureError, match="another certificate"):
        check_signature(DOCUMENT | {"share": 0.6}, sign(DOCUMENT, SHARED), SHARED)
    with pytest.raises(SignatureError, match="not an envelope"):
        check_signature(DOCUMENT, [], SHARED)


def test_keys_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(SignatureError, match="at least 32 bytes"):
        sign(DOCUMENT, b"short")
    with pytest.raises(SignatureError, match="no private key"):
        sign(DOCUMENT, pair()[1])
    with pytest.raises(SignatureError, match="no public key"):
        check_signature(DOCUMENT, sign(DOCUMENT, SHARED), b"-----BEGIN PUBLIC KEY-----\nx")
