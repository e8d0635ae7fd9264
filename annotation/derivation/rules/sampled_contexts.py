"""Random contexts from each system's ranking (CRUX, section 4.3), as rankings of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from annotation.campaigns.sampling import shuffled
from annotation.derivation.base import Rule, Work
from datasets.derivation import DerivationError
from tandem.files import rows

MOST = 10_000


@dataclass(frozen=True)
class Options:
    n: int = field(default=16, metadata={"help": "contexts per system", "least": 1, "most": 1000})
    size: int = field(
        default=10, metadata={"help": "passages per context", "least": 1, "most": MOST}
    )
    depth: int = field(
        default=50,
        metadata={
            "help": "the number of top ranks that passages are sampled from",
            "least": 1,
            "most": MOST,
        },
    )
    seed: int = field(default=0, metadata={"help": "of the draw", "least": 0, "most": 2**31 - 1})


class SampledContexts(Work):
    plural = "rankings"

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        texts = {passage.id for passage in query.passages}
        known = {ranking.system for ranking in query.rankings}
        made: list[rows.Ranking] = []
        for ranking in query.rankings:
            pool = [each for each in ranking.passages[: self.job.options.depth] if each in texts]
            if not pool:
                self.tally.drop("rankings", f"{query.id}/{ranking.system}", "no passage has a text")
                continue
            made += self._contexts(query.id, ranking.system, pool)
        if twice := next((each.system for each in made if each.system in known), None):
            raise DerivationError(
                f"query {query.id!r} has a ranking of {twice!r} already; derive from the batch "
                "before it"
            )
        self.tally.keep("queries")
        self.tally.keep("contexts", len(made))
        return replace(query, rankings=query.rankings + tuple(made))

    def _contexts(self, query: str, system: str, pool: list[str]) -> list[rows.Ranking]:
        asked = self.job.options
        digits = len(str(asked.n))
        return [
            rows.Ranking(
                f"{system}, sample {number:0{digits}}",
                tuple(
                    shuffled(pool, asked.seed, f"context {number} {system} {query}")[: asked.size]
                ),
            )
            for number in range(1, asked.n + 1)
        ]


RULE = Rule(
    "sampled-contexts",
    "Sampled contexts",
    "Random contexts from each system’s ranking, as systems of their own.",
    SampledContexts,
    options=Options,
    decides=False,
)
