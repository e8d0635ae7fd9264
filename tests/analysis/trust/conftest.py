"""Plans with the same seed each time, so that the order of the draw is the same."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

SEED = "5eed" * 8


@pytest.fixture(autouse=True)
def seed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(token_hex=lambda length: SEED)
    for module in ("plans", "comparisons"):
        monkeypatch.setattr(f"analysis.trust.{module}.secrets", made)
