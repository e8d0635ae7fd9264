"""Runs a notebook as a kernel does: its cells in order, in one namespace, within a running loop.

`python -m tests.client.notebook FILE` prints what each code cell shows, as one line of JSON: the
text that it prints, and its last expression as HTML, SVG or text.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import sys
from pathlib import Path
from typing import Any

SHOWN = {"html": "_repr_html_", "svg": "_repr_svg_"}


async def run_cells(sources: list[str]) -> list[dict[str, str]]:
    """Return what each cell shows. Raises whatever a cell raises."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [await _run(source, namespace) for source in sources]


async def _run(source: str, namespace: dict[str, Any]) -> dict[str, str]:
    tree, printed = ast.parse(source), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        await _carry_out(tree, "exec", namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = await _carry_out(ast.Expression(last.value), "eval", namespace)
    shown = {"printed": printed.getvalue()} if printed.getvalue() else {}
    if value is not None:
        shown["text"] = repr(value)
        for name, method in SHOWN.items():
            if hasattr(value, method):
                shown[name] = getattr(value, method)()
    return shown


async def _carry_out(tree: Any, mode: str, namespace: dict[str, Any]) -> Any:
    code = compile(tree, "<cell>", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, namespace)
    return await value if inspect.iscoroutine(value) else value


def main(path: str) -> None:
    cells = json.loads(Path(path).read_text("utf-8"))["cells"]
    sources = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    print(json.dumps(asyncio.run(run_cells(sources))))


if __name__ == "__main__":
    main(sys.argv[1])
