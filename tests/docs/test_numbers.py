"""Numbers of the judge engine in the docs are those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from judging import retries
from judging.backends.anthropic import DEFAULT_MAX_TOKENS
from judging.backends.capabilities import PROBE_COMPLETIONS
from judging.display import UNTAKEN_SECONDS
from judging.engine.persistence import GROUP, GROUP_SECONDS, MOST_UNWRITTEN
from judging.management.commands.run_judge import PATIENCE_SECONDS
from judging.models import CONCURRENCY
from judging.trials import one_item_jobs
from judging.trials.one_item import DEADLINE

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-judge.md"
WORDS = {3: "three", 6: "six", 10: "ten"}
QUARTER = 0.25


@pytest.mark.parametrize(
    "sentence",
    [
        f"asks up to {WORDS[retries.ATTEMPTS]} times in all",
        f"after {retries.RATE_PATIENCE / 60:.0f} minutes the run stops",
        f"usually {PROBE_COMPLETIONS} of which generate text",
        f"in groups of {GROUP} or every quarter of a second",
        f"at most *concurrency* + {GROUP} requests",
        f"they are lost: at most {MOST_UNWRITTEN} answers",
        f"`concurrency` (default {CONCURRENCY})",
        f"at most {PATIENCE_SECONDS} seconds",
        f"at most {DEFAULT_MAX_TOKENS:,} tokens",
        f"up to {WORDS[round(DEADLINE / 60)]} minutes",
        f"{WORDS[one_item_jobs.TRIES].capitalize()} tries a minute",
        f"within {WORDS[UNTAKEN_SECONDS]} seconds",
    ],
)
def test_a_number_in_the_docs_is_the_constant_of_the_code(sentence: str) -> None:
    assert sentence in " ".join(PAGE.read_text().split())


def test_the_quarter_of_a_second_is_one() -> None:
    assert GROUP_SECONDS == QUARTER
