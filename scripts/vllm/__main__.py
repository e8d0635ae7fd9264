"""`python -m scripts.vllm [--build gpu|cpu] [--folder FOLDER] [--try]`"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import scripts.vllm
from scripts.vllm.setup import BUILDS, FOLDER, SetUpError, set_up


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if given.attempt and os.environ.get("TANDEM_VLLM"):
        return 0  # another installation is named, and used
    try:
        set_up(given.folder, given.build)
    except SetUpError as error:
        print(f"vLLM is not set up: {error}", file=sys.stderr)
        return 0 if given.attempt else 1
    print(f"vLLM: {given.folder / 'bin' / 'vllm'}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.vllm", description=scripts.vllm.__doc__
    )
    there = "gpu" if shutil.which("nvidia-smi") else "cpu"
    parser.add_argument("--build", choices=BUILDS, default=there, help=f"here: {there}")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="a virtual environment")
    parser.add_argument(
        "--try", dest="attempt", action="store_true", help="do not treat a failure as an error"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
