"""Numbers of progress in words."""

from __future__ import annotations


def seconds_in_words(seconds: float | None) -> str:
    """A span of time to two places: 4.2 s, 45 s, 12 min, 3 h 20 min, 2,400 h; a dash for none."""
    if seconds is None:
        return "–"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 89.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    if minutes < 100 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // 60:,} h"


def change_in_words(change: float | None) -> str:
    """How a recent time stands to the one before; nothing where that is unknown or little."""
    if change is None or abs(change) < 0.1:
        return ""
    return f"{abs(change):.0%} {'faster' if change < 0 else 'slower'}"
