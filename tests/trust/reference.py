"""The reference implementation of the procedures, which stands beside the project."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "shared" / "trust_loop.py"


@cache
def _module() -> Any:
    spec = importlib.util.spec_from_file_location("reference_trust_loop", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def reference() -> Any:
    if not FILE.is_file():
        pytest.skip(f"the reference implementation is not there: {FILE.name}")
    return _module()
