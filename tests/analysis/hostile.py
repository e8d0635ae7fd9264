"""Names with every character that is special in some format."""

from __future__ import annotations

from typing import Any

HOSTILE = {
    "ada": '[*]\\end{document}%$#_^~{}&<script>"x"|`b`',
    "bram": "Ünïçé 🎉 שלום 中文 e\u0301 ---",
    "chidi": "=HYPERLINK(1)\t\u2028_em_ &amp; a\\|b",
    "model-x": "*x* \u202ertl 👩‍🔬 a/b~c",
    "short": "[x](javascript:1) </table><!--",
}


def renamed(part: Any) -> Any:
    """A report whose raters and systems have these names."""
    if isinstance(part, dict):
        return {HOSTILE.get(key, key): renamed(value) for key, value in part.items()}
    if isinstance(part, list):
        return [renamed(each) for each in part]
    return HOSTILE.get(part, part) if isinstance(part, str) else part
