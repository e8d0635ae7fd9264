"""Types that reports, figures and formats share."""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]
