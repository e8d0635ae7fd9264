"""The campaign that most tests of judges run over."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Campaign
from tests.judging.cast import campaign_of


@pytest.fixture
def campaign(db: None, tmp_path: Path) -> Campaign:
    """Report coverage: 4 items, 12 units."""
    return campaign_of(tmp_path)
