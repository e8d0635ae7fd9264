"""Bring a body to UTF-8, whatever compression and charset a server sends, or say what came.

Requests ask for plain bodies. Gateways and proxies compress some anyway, and write texts in the
charset of their own pages.
"""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Mapping
from email.message import Message
from functools import lru_cache

from judging.backends.base import BackendError, RejectedError, TransientError

MAX_BODY_BYTES = 4 * 1024 * 1024
GZIP = b"\x1f\x8b"
# The window sizes of zlib: with a header of gzip or zlib, or without any.
_ANY_HEADER, _NO_HEADER = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS
_READ = ("gzip", "x-gzip", "deflate")
# Some servers give the charset or the transfer as an encoding of the content.
_NONE = ("", "identity", "utf-8", "utf8", "none", "aws-chunked", "chunked")
_CHARSETS = (
    "ascii", "utf-", "iso8859-", "iso2022_", "cp125", "koi8-", "gb", "hz", "big5", "euc_",
    "shift_jis", "cp9", "mac-roman",
)  # fmt: skip
# Pages that are said to be in one of these are in its superset, by the web's convention.
_SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252"}
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)  # fmt: skip


def to_utf8(status: int, headers: Mapping[str, str], raw: bytes) -> bytes:
    """Return a body as UTF-8 without compression. A failure's unreadable body is empty.

    Raises RejectedError for an encoding that is not read, TransientError for a broken body.
    """
    try:
        plain = decompress(headers, raw)
        return decode_text(headers, plain).encode("utf-8", "surrogatepass")
    except BackendError as error:
        if error.state == "bad-utf8":
            return plain
        if not 200 <= status < 300:
            return b""
        error.status = status
        raise


def decompress(headers: Mapping[str, str], raw: bytes) -> bytes:
    """Undo all compressions of a body, the last one first. Raises BackendError."""
    named = [name.strip().lower() for name in headers.get("content-encoding", "").split(",")]
    for name in reversed([name for name in named if name not in _NONE]):
        if name not in _READ:
            raise RejectedError(
                "encoding",
                f"the server compressed its answer with {name[:40]!r}, although asked not to; let "
                "it or the proxy before it send plain bodies or gzip",
            )
        # A proxy may have unpacked the body and left the header.
        if name != "deflate" and not raw.startswith(GZIP):
            continue
        raw = _inflate(raw, name == "deflate")
    return _inflate(raw, deflated=False) if raw.startswith(GZIP) else raw


def _inflate(raw: bytes, deflated: bool) -> bytes:
    if not raw:
        return raw
    for bits in (_ANY_HEADER, _NO_HEADER) if deflated else (_ANY_HEADER,):
        unpacking = zlib.decompressobj(bits)
        try:
            plain = unpacking.decompress(raw, MAX_BODY_BYTES + 1)
        except zlib.error:
            continue
        if len(plain) > MAX_BODY_BYTES:
            raise too_large(plain)
        if not unpacking.eof:
            raise TransientError("broken-body", "the compressed body was cut off")
        return plain
    raise TransientError("broken-body", "the compressed body cannot be unpacked")


def too_large(beginning: bytes) -> RejectedError:
    message = f"the server's body is larger than {MAX_BODY_BYTES // 1024**2} MB"
    return RejectedError("too-large", message, body=beginning[:65536].decode("utf-8", "replace"))


def decode_text(headers: Mapping[str, str], raw: bytes) -> str:
    """Return the text of a body. Raises TransientError.

    A byte order mark comes first, then UTF-8, which no other charset resembles, and then the
    charset in the headers. Without any, the body has no text.
    """
    for mark, codec in _BOMS:
        if raw.startswith(mark):
            return _decoded(raw, codec)
    if (codec := json.detect_encoding(raw)) != "utf-8":
        return _decoded(raw, codec)
    declared = declared_charset(headers)
    if raw.isascii() and declared.startswith(("iso2022_", "hz")):
        return _decoded(raw, declared)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if declared and declared != "utf-8":
            return _decoded(raw, _SUPERSETS.get(declared, declared))
        said = "as it says" if declared else "and names no charset that is read"
        raise TransientError(
            "bad-utf8",
            f"the server's body is not UTF-8, {said}: byte 0x{raw[error.start]:02x} at "
            f"{error.start:,}",
        ) from error


def declared_charset(headers: Mapping[str, str]) -> str:
    """Return Python's name of the charset in the headers, empty if there is none that is read."""
    return _charset_of(headers.get("content-type", ""))


# A server names the same type in each reply, and reading it takes longer than reading the body.
@lru_cache(maxsize=64)
def _charset_of(content_type: str) -> str:
    kind = Message()
    kind["content-type"] = " ".join(content_type.split())
    try:
        name = codecs.lookup(str(kind.get_content_charset() or "")).name
    except (LookupError, ValueError):
        return ""
    return name if name.startswith(_CHARSETS) else ""


def _decoded(raw: bytes, codec: str) -> str:
    try:
        return raw.decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        message = f"the server's body is not {codec}, in which it seems to be written"
        raise TransientError("bad-charset", message) from error
