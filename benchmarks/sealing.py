"""The cost of the audit trail's seals: `python -m benchmarks.sealing --answers 100000`.

Seals a campaign with that many answers for the first time, seals again with nothing new, and checks
everything, each in a separate process. Prints one JSON object with the seconds of processor and of
the clock and the peak of memory; `times` compares processor seconds with those of the first seal.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import Cost, manage, python
from benchmarks.site import production

DIGEST = """
from datasets.digests import recompute_digest
from datasets.models import Batch
batch = Batch.objects.get()
Batch.objects.update(digest=recompute_digest(batch))
"""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    print(json.dumps(measure(parser.parse_args(words).answers), indent=1))
    return 0


def measure(answers: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place) / "data"
        folder.mkdir()
        env = {**os.environ, **production(folder, os.environ.get("DATABASE_URL"))}
        manage("migrate", "--verbosity", "0", env=env)
        python("-m", "benchmarks.inside", "many", "c", answers, 12, env=env)
        # Without it, the check would find that the batch's texts are not those that were loaded.
        manage("shell", "-c", DIGEST, env=env)
        first = manage("seal_audit", env=env)
        costs = {
            "the first seal": first,
            "a seal of nothing new": manage("seal_audit", env=env),
            "tandem check": manage("check_invariants", env=env),
        }
        return {
            "answers": answers,
            "seconds": {name: _figures(cost) for name, cost in costs.items()},
            "times": {
                name: round(cost.processor / first.processor, 3) for name, cost in costs.items()
            },
        }


def _figures(cost: Cost) -> dict[str, float]:
    return {
        "processor": round(cost.processor, 1),
        "clock": round(cost.wall, 1),
        "peak_mb": round(cost.peak_mb),
    }


if __name__ == "__main__":
    sys.exit(main())
