"""The site, in which a request with the header `X-Hold` occupies its thread until it is released.

A test names a folder in `TANDEM_TEST_HELD`: each held request puts a file there and waits for the
file `release`. Responses say which process answered. As gunicorn's configuration, this module has
the site's own, with short limits.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from tests.serving import unchecked

globals().update({k: v for k, v in vars(unchecked).items() if not k.startswith("__")})
wsgi_app = "tests.serving.held:application()"


def post_worker_init(worker: Any) -> None:
    from config.front import connection
    from config.front import worker as front

    front.HEAD_SECONDS = 0.2
    connection.PERIOD_SECONDS = 0.5
    connection.LEAST_BYTES = 1000


def application() -> Any:
    from config.wsgi import application as site

    def held(environ: dict[str, Any], start_response: Any) -> Any:
        if "HTTP_X_HOLD" in environ:
            folder = Path(os.environ["TANDEM_TEST_HELD"])
            (folder / uuid.uuid4().hex).touch()
            while not (folder / "release").exists():
                time.sleep(0.02)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            own = [("X-Process", str(os.getpid())), ("X-Switch", str(sys.getswitchinterval()))]
            return start_response(status, [*headers, *own], *more)

        return site(environ, start)

    return held
