"""Carry out a Dockerfile's steps without a container engine, in a temporary folder.

    python -m scripts.containers [--target runtime] [--keep FOLDER]

Each stage is built in a clean folder from the files that .dockerignore lets in; the image's paths
(/app, /opt, /data, /tmp) are in that folder. Then the image's CMD runs beside the worker and the
beat of compose.yaml, the HEALTHCHECK is polled until it succeeds, a page and a static file are
fetched, and all processes must end with 0 after STOPSIGNAL. Steps that need a container are
skipped, and the output says so: system packages, users, owners. The exit status is 1 if any step
fails.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from scripts.containers.building import Builder
from scripts.containers.dockerfile import DockerfileError, needed_stages, stages
from scripts.containers.trial import try_out

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="runtime", help="the stage to make (default: runtime)")
    parser.add_argument("--keep", type=Path, help="a new folder to work in, which is kept")
    parser.add_argument("--context", type=Path, default=ROOT, help="the folder with the Dockerfile")
    options = parser.parse_args(arguments)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="tandem-image-"))
    try:
        parts = needed_stages(
            stages((options.context / "Dockerfile").read_text("utf-8")), options.target
        )
        builder = Builder(options.context, folder)
        try_out(builder, builder.build(parts))
    except DockerfileError as error:
        print(f"Dockerfile, {error}", file=sys.stderr)
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("The steps hold.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
