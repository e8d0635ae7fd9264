"""Check a certificate of Tandem: python check_certificate.py FILE [SHA-256]

It needs Python 3.11 alone, and computes the draws, the evidence, the certified cuts, their bounds
and the statement again. The certificate is genuine only if its SHA-256 comes from elsewhere, as in
a paper. Exit status: 0 genuine, 1 consistent, but not proven genuine, 3 wrong.
"""

import json
import sys
from bisect import bisect_left, bisect_right
from hashlib import sha256
from itertools import accumulate, takewhile
from math import exp, inf, log, log1p
from pathlib import Path
from typing import Any

BETS = [0.5 + 0.5 * (n + 0.5) / 40 for n in range(40)]
RISKS = [0.005 + 0.99 * n / 198 for n in range(199)]
TOLERANCE = 1e-6
Rows = list[list[int]]
Part = tuple[Rows, Rows]
"""Accepted cells of each query, and wrong cells of each draw, by cut."""
Phase = tuple[int, int, int | None]
"""Of a cut: the draws before, those at its end, and those at its certification."""


def canonical(document: Any) -> bytes:
    style: Any = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False}
    return json.dumps(document, separators=(",", ":"), **style).encode()


class Labels:
    def __init__(self, plan: Any, queries: list[int], wrong: Rows) -> None:
        self.plan, self.queries, self.all = plan, queries, (plan["accepted"], wrong)
        self.sizes, self.k = list(zip(*plan["accepted"], strict=True)), plan.get("k", inf)

    def order(self, cut: int, before: int) -> list[int]:
        """The queries that are drawn for a cut by size, in the form `cells` with replacement."""
        sizes, known = self.sizes[cut], set(self.queries[:before])

        def uniform(*names: object) -> float:
            text = "\x1f".join((self.plan["seed"], *map(str, names)))
            return (int.from_bytes(sha256(text.encode()).digest()[:8], "big") + 0.5) / 2**64

        if self.k < inf:
            ends, draws = list(accumulate(sizes)), range(1, len(self.queries) + 1)
            return [bisect_right(ends, uniform("cells", cut, n) * ends[-1]) for n in draws]
        left = (query for query, size in enumerate(sizes) if size and query not in known)
        keys = {query: -log(uniform("whole", cut, query)) / sizes[query] for query in left}
        return sorted(keys, key=lambda query: (keys[query], query))

    def evidence(self, cut: int, before: int, end: int, risk: float, of: Part) -> list[float]:
        """The logarithms of the evidence against a risk of a part of the cells, after each draw."""
        sizes, (part, wrong), is_whole = self.sizes[cut], of, self.k == inf
        total, gone = sum(sizes), sum(sizes[query] for query in self.queries[:before])
        expected, seen = risk * sum(row[cut] for row in part), sum(w[cut] for w in wrong[:before])
        left = {query for query, size in enumerate(sizes) if size} - set(self.queries[:before])
        shares = (min(part[query][cut], self.k) / min(sizes[query], self.k) for query in left)
        most, logs, found = max(shares, default=1.0), [0.0] * len(BETS), []
        for query, errors in zip(self.queries[before:end], wrong[before:end], strict=True):
            mean = min(max((expected - seen) / (total - gone), 0), most)
            gain = (mean - errors[cut] / min(sizes[query], self.k)) / max(most - mean, 1e-12)
            logs = [old + log1p(bet * 0.999 * gain) for old, bet in zip(logs, BETS, strict=True)]
            found.append(max(logs) + log(sum(exp(each - max(logs)) for each in logs) / len(logs)))
            seen, gone = seen + is_whole * errors[cut], gone + is_whole * sizes[query]
        return found

    def most(self, cut: int, labelled: int, of: Part) -> int:
        """The wrong cells if all without a label are wrong; all cells in draws with replacement."""
        draws = zip(self.queries[:labelled], of[1], strict=False) if self.k == inf else ()
        right = sum(of[0][query][cut] - wrong[cut] for query, wrong in draws)
        return sum(row[cut] for row in of[0]) - right

    def bound(self, cut: int, phase: Phase, level: float, of: Part) -> float:
        def is_below(risk: float) -> bool:
            return max(self.evidence(cut, *phase[:2], risk, of), default=0) >= log(1 / level)

        return [*RISKS, 1.0][bisect_left(RISKS, True, key=is_below)]

    def phase(self, cut: int, before: int) -> Phase:
        pairs = zip(self.order(cut, before), self.queries[before:], strict=False)
        end = before + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        reached = [0.0, *self.evidence(cut, before, end, self.plan["risk"], self.all)]
        for known in range(before + (cut == 0), end + 1):
            allowed = self.plan["risk"] * sum(self.sizes[cut])
            if self.most(cut, known, self.all) < allowed or reached[known - before] >= log(
                1 / self.plan["level"]
            ):
                return before, known, known
        return before, end, None


def are_nested(rows: Rows, most: Rows, k: float) -> bool:
    """Whether cells, those of parts, and the others are nested by cut, and no more than may be."""
    rest = [[cells - sum(of) for cells, *of in zip(*each, strict=True)] for each in (rows, most)]
    for few, many in zip([*rows, rest[0]], [*most, rest[1]], strict=True):
        is_more = any(a > min(b, k) for a, b in zip(few, many, strict=True))
        if is_more or sorted(few) != few or few[0] < 0:
            return False
    return True


def labels_of(certificate: Any, plan: Any) -> tuple[Labels, dict[str, Part]]:
    """The labels, and the cells of the systems that have bounds, if they are those of the plan."""
    number = {key: n for n, key in enumerate(plan["population"]["queries"])}
    own, draws = plan["by_system"]["accepted"] if "by_system" in plan else {}, certificate["draws"]
    labels = Labels(plan, [number[each["query"]] for each in draws], [d["wrong"] for d in draws])
    every = (plan["population"]["cells"], number, plan["accepted"], *own.values())
    for cells, _, *rows in zip(*every, strict=True):
        if len(rows[0]) != len(plan["cuts"]) or not are_nested(rows, rows, cells):
            raise ValueError("the cuts of the plan are not nested")
    for query, each in zip(labels.queries, draws, strict=True):
        most = [rows[query] for rows in (plan["accepted"], *own.values())]
        wrong = [each["wrong"], *(each["by_system"][name] for name in own)]
        if each["accepted"] != most[0] or not are_nested(wrong, most, labels.k):
            raise ValueError(f"the cells of query {each['query']!r} are not those of the plan")
    return labels, {n: (own[n], [each["by_system"][n] for each in draws]) for n in own}


def statement(plan: Any, share: float) -> str:
    of, numbers = plan["population"], (share, plan["risk"], 1 - plan["delta"])
    may_decide, wrong, sure = (f"{round(100 * each, 1):g} %" for each in numbers)
    return (
        f"{plan['judge']['name']} may decide {may_decide} of the {sum(of['cells'])} cells on "
        f"{plan['variable']} in these {len(of['queries'])} queries: at most {wrong} of them are "
        f"wrong, with confidence {sure}."
    )


def differences(document: Any) -> list[str]:
    """What the certificate states otherwise than follows from its plan and its labels."""
    stated, plan = document["predicate"], document["predicate"]["plan"]
    labels, systems = labels_of(stated, plan)
    k, part, cells = plan["number"], 0, sum(plan["population"]["cells"])
    level, each, pairs = plan["delta"] * (0.8 if k == 1 else 0.2 / (k * (k - 1))), 0.0, {}
    if systems:
        part = min(max(plan["by_system"]["part"], 0), 1)
        each = level * part / (len(systems) * len(plan["cuts"]))
        pairs["the level of each bound by system"] = (plan["by_system"]["level"], each)
    phases: list[Phase] = []
    for cut, of in enumerate(stated["cuts"]):
        before, total = phases[-1][1] if cut else 0, sum(labels.sizes[cut])
        is_begun = all(after is not None for _, _, after in phases)
        phases.append(labels.phase(cut, before) if is_begun else (before, before, None))
        reached = labels.evidence(cut, *phases[cut][:2], plan["risk"], labels.all)
        bound = labels.bound(cut, phases[cut], plan["level"], labels.all) if reached else None
        for name, value in (
            ("share", total / cells), ("accepted", total), ("draws", len(reached)),
            ("certified_after", phases[cut][2]), ("log_evidence", max(reached, default=None)),
            ("log_needed", log(1 / plan["level"])), ("bound", bound),
        ):  # fmt: skip
            pairs[f"{name} of cut {cut + 1}"] = (of[name], value)
    certified = sum(after is not None for _, _, after in phases)
    at, form = certified - 1, "cells" if "k" in plan and len(plan["cuts"]) == 1 else "whole"
    for name, own in systems.items() if certified else ():
        of_system = sum(row[at] for row in own[0])
        most = labels.most(at, len(own[1]), own) / max(of_system, 1)
        bound = min(labels.bound(at, phases[at], each, own), most) if of_system else None
        pairs[f"the bound of {name}"] = (stated["systems"][name]["bound"], bound)
    share = sum(labels.sizes[at]) / cells if certified else 0
    pairs |= {
        "the digest of the batch": (document["subject"][0]["digest"], {"sha256": plan["batch"]}),
        "that of verdicts": (document["subject"][1]["digest"], {"sha256": plan["verdicts"]}),
        "the digest of the plan": (stated["plan_sha256"], sha256(canonical(plan)).hexdigest()),
        "the level of the plan": (plan["level"], level * (1 - part)),
        "the kind of plan": ([plan["kind"], plan["form"]], ["certify", form]),
        "the number of certified cuts": (stated["certified"], certified),
        "whether anything is certified": (True, certified > 0),
        "the share": (stated["share"], share),
        "the statement": (stated["statement"], statement(plan, share)),
        "the last look": (stated["looks"][-1]["labelled"], len(labels.queries)),
        "the number of labels in the order of the draw": (len(labels.queries), phases[-1][1]),
    }
    return [f"{what} is {one}, and {two} follows" for what, (one, two) in pairs.items()
            if one != two and not (isinstance(one, float) and isinstance(two, (int, float)) and
                                   abs(one - two) <= TOLERANCE * max(1, abs(two)))]  # fmt: skip


def main(file: str, *digests: str) -> int:
    content = Path(file).read_bytes()
    digest = sha256(content).hexdigest()
    try:
        document = json.loads(content)
        wrong = [] if canonical(document) == content else ["its bytes are not canonical JSON"]
        wrong += differences(document)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        wrong = [f"it is not a certificate ({type(error).__name__}: {error})"]
    if digests and digests[0].strip().lower() != digest:
        wrong.append("its SHA-256 is not the one that was given")
    if wrong:
        print(*wrong, "The certificate is wrong.", sep="\n")
        return 3
    print(document["predicate"]["statement"], f"SHA-256 {digest}", sep="\n")
    print("Genuine." if digests else "Consistent, not proven genuine: give its SHA-256.")
    return 0 if digests else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]) if sys.argv[1:] else __doc__)
