"""A body sent in parts has the same bytes as the whole."""

from __future__ import annotations

import hashlib
import json

import pytest

from judging.backends.base import JSON, Facts, Message, Request
from judging.backends.bodies import CACHE_SIZE, Bodies

SCHEMA: JSON = {"type": "object", "properties": {'"messages": []': {"type": "string"}}}
ODD = 'q"uo\\te \n\t\x01 é 🌉 قديم {x}'


def body(request: Request) -> JSON:
    return {
        "model": 'm"messages": []',
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "schema": request.schema,
        "seed": request.sample,
    }


def asked(text: str, shared: int, *earlier: Message, sample: int = 0) -> Request:
    facts = Facts("", (), (), unit_by_unit=True)
    return Request((*earlier, Message("user", text, shared)), SCHEMA, facts, sample)


@pytest.mark.every_case
@pytest.mark.parametrize("shared", range(len(ODD) + 1))
def test_a_body_encoded_in_parts_has_the_bytes_of_the_whole(shared: int) -> None:
    request = asked(ODD, shared, Message("system", ODD), Message("assistant", ODD))
    written, digest = Bodies(body).encode(request)
    assert written == json.dumps(body(request), ensure_ascii=False).encode()
    assert digest == hashlib.sha256(written).hexdigest()


def test_cached_parts_are_never_mixed_up() -> None:
    bodies = Bodies(body)
    for n in [*range(2 * CACHE_SIZE), *range(2 * CACHE_SIZE)]:
        request = asked(f"{n} is shared, {ODD}", n % 9, Message("system", f"{n % 3}"), sample=n % 5)
        assert json.loads(bodies.encode(request)[0]) == body(request)
