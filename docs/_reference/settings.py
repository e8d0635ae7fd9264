"""Reference page of the settings, from `config/env.py`, compose.yaml and the Makefile."""

from __future__ import annotations

import re
from collections.abc import Iterator

from config import env
from docs._reference.words import ROOT, code, meaning, page, plain, table
from judging.backends import HOSTED
from judging.servers import KEY_PREFIX

OPENING = """\
For people who set Tandem up: every environment variable that it reads, with its default.

A process reads and checks them once, when it starts. A value that cannot be used stops the process
with a line that says what to set. [Deploy](../how-to/deploy.md) says which of them a server needs.
`TANDEM_MAX_UPLOAD_MB` limits batches that are uploaded in the browser or by the API. Other requests
have their own [limits](../how-to/limits.md).

`TANDEM_JUDGE_HOSTS` is for judges that are defined
[in the browser](../how-to/add-a-judge.md#judges-in-the-browser): `vllm:8000,127.0.0.1:8001` allows
them to use these two servers, which are not public. Write each host with its port, as in the
judge's address. Judges that are defined on the command line need no entry.
"""
JUDGES = f"""\
A judge names the variable of its key with `create_judge --api-key-env NAME`; the default is
{" or ".join(f"`{each.key_variable}` (backend `{name}`)" for name, each in HOSTED.items())}. The
variable is read at each request, in the process that runs the judge. In the
browser an admin may name variables that begin with `{KEY_PREFIX}…`; see
[Judges in the browser](../how-to/add-a-judge.md#judges-in-the-browser).
"""
COMPOSE = """\
`compose.yaml` takes these from the shell or from a file `.env` in its folder. It passes most of the
variables above on to the containers under the same names.
"""
MAKE = "Given after the target, such as `make serve PORT=8001`, or in the environment."

IN_COMPOSE = re.compile(r"\$\{(?P<name>[A-Z_]+)(?P<rule>:[-?])?(?P<text>[^}]*)\}")
IN_MAKEFILE = re.compile(r"^(?P<name>[A-Z_]+) *\?= *(?P<value>\S+)$", re.MULTILINE)


def names() -> list[str]:
    return list(env.VARIABLES)


def write() -> str:
    rows = [
        (code(name), _default(default), plain(meaning))
        for name, (default, meaning) in env.VARIABLES.items()
    ]
    head = ("variable", "default", "meaning")
    return page(
        "Settings",
        OPENING,
        table(head, rows),
        f"## Keys of judges\n\n{JUDGES}",
        f"## With containers\n\n{COMPOSE}\n{table(head, _compose())}",
        f"## With make\n\n{MAKE}\n\n{table(head, _make())}",
    )


def compose_variables() -> dict[str, str]:
    """Return the further settings of compose.yaml, with their defaults in words."""
    text = (ROOT / "compose.yaml").read_text("utf-8")
    found = {each["name"]: each for each in IN_COMPOSE.finditer(text)}
    own = {name: each for name, each in found.items() if name not in env.VARIABLES}
    return {
        name: "required" if each["rule"] == ":?" else each["text"] or "none"
        for name, each in own.items()
    }


def make_variables() -> dict[str, str]:
    text = (ROOT / "Makefile").read_text("utf-8")
    return {each["name"]: each["value"] for each in IN_MAKEFILE.finditer(text)}


def _compose() -> Iterator[tuple[str, str, str]]:
    for name, default in compose_variables().items():
        words = default if default in ("required", "none") else code(default)
        yield code(name), words, meaning("compose", name)


def _make() -> Iterator[tuple[str, str, str]]:
    for name, value in make_variables().items():
        yield code(name), code(value), meaning("make", name)


def _default(default: str) -> str:
    """Format a default: a value as code, a description as text."""
    return plain(default) if " " in default or default == "none" else code(default)
