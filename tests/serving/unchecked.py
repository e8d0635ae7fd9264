"""gunicorn's configuration of the site, without the checks before its start.

These take a separate process and a second and a half. The site of most tests runs them.
"""

from __future__ import annotations

from config import gunicorn

globals().update(
    {k: v for k, v in vars(gunicorn).items() if not k.startswith("__") and k != "on_starting"}
)
