"""Check a certificate of Tandem: python check_certificate.py FILE [SHA-256]

It needs Python 3.11 alone, and computes the draws, the evidence, the certified cuts, their bounds
and the statement again from the file. The certificate is genuine only if its SHA-256 comes from
elsewhere, as from a paper or from its issuer. Exit status: 0 genuine, 1 consistent, but not proven
genuine, 3 wrong.
"""

import json
import sys
from hashlib import sha256
from itertools import takewhile
from math import exp, log, log1p
from pathlib import Path
from typing import Any

BETS = [0.5 + 0.5 * (n + 0.5) / 40 for n in range(40)]
RISKS = [0.005 + 0.99 * n / 198 for n in range(199)]
TOLERANCE = 1e-6
Wrong = dict[int, list[int]]
Phase = tuple[list[int], list[int], int | None]


def canonical(document: Any) -> bytes:
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def digest_of(document: Any) -> str:
    return sha256(canonical(document)).hexdigest()


def order_of(plan: Any, cut: int, left: set[int]) -> list[int]:
    """The numbers of queries in the order of their draw by size, without replacement."""
    keys: dict[int, float] = {}
    for query in left:
        if size := plan["accepted"][query][cut]:
            text = "\x1f".join((plan["seed"], "whole", str(cut), str(query)))
            u = (int.from_bytes(sha256(text.encode()).digest()[:8], "big") + 0.5) / 2**64
            keys[query] = -log(u) / size
    return sorted(keys, key=lambda query: (keys[query], query))


def evidence_of(
    plan: Any, cut: int, before: list[int], drawn: list[int], wrong: Wrong, risk: float
) -> list[float]:
    """The logarithms of the evidence against a risk after each drawn query."""
    accepted = [row[cut] for row in plan["accepted"]]
    total = sum(accepted)
    seen, size = sum(wrong[q][cut] for q in before), sum(accepted[q] for q in before)
    logs, found = [0.0] * len(BETS), []
    for query in drawn:
        mean = min(max((risk * total - seen) / (total - size), 0), 1)
        share = wrong[query][cut] / accepted[query]
        gain = (mean - share) / max(1 - mean, 1e-12)
        logs = [old + log1p(bet * 0.999 * gain) for old, bet in zip(logs, BETS, strict=True)]
        top = max(logs)
        found.append(top + log(sum(exp(each - top) for each in logs) / len(logs)))
        seen, size = seen + wrong[query][cut], size + accepted[query]
    return found


def is_counted(plan: Any, cut: int, wrong: Wrong) -> bool:
    """Whether a cut's risk is below the plan's even if all its unlabelled cells are wrong."""
    total = sum(row[cut] for row in plan["accepted"])
    rest = total - sum(plan["accepted"][query][cut] for query in wrong)
    return bool(sum(each[cut] for each in wrong.values()) + rest < plan["risk"] * total)


def phases_of(plan: Any, labelled: list[tuple[int, list[int]]]) -> list[Phase]:
    """For each cut that was begun: the queries labelled before, those drawn, when it was certified.

    `labelled` are the queries with their wrong cells by cut, in the order in which they count.
    """
    needed, wrong, known = log(1 / plan["level"]), dict(labelled), Wrong()
    phases: list[Phase] = []
    while len(phases) < len(plan["cuts"]):
        cut, before, drawn, left = len(phases), list(known), list[int](), labelled[len(known) :]
        after = None
        if cut and is_counted(plan, cut, known):
            after = len(known)
        else:
            order = order_of(plan, cut, set(range(len(plan["accepted"]))) - set(before))
            pairs = zip(order, (query for query, _ in left), strict=False)
            drawn = [query for query, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        reached = evidence_of(plan, cut, before, drawn, wrong, plan["risk"])
        for turn, (query, log_evidence) in enumerate(zip(drawn, reached, strict=True), 1):
            known[query] = wrong[query]
            if log_evidence >= needed or is_counted(plan, cut, known):
                drawn, after = drawn[:turn], len(known)
                break
        phases.append((before, drawn, after))
        if after is None:
            break
    if len(known) < len(labelled):
        raise ValueError(f"query {labelled[len(known)][0]} was labelled before its turn")
    return phases


def labelled_of(certificate: Any, plan: Any) -> list[tuple[int, list[int]]]:
    """The labelled queries with their wrong cells, after comparing them with the plan."""
    number = {key: n for n, key in enumerate(plan["population"]["queries"])}
    if len(number) != len(plan["accepted"]):
        raise ValueError("the queries of the plan differ in number")
    for row, cells in zip(plan["accepted"], plan["population"]["cells"], strict=True):
        if sorted(row) != row or row[0] < 0 or row[-1] > cells or len(row) != len(plan["cuts"]):
            raise ValueError("the cuts of the plan are not nested")
    labelled = []
    for each in certificate["draws"]:
        query, wrong = number[each["query"]], each["wrong"]
        if each["accepted"] != plan["accepted"][query]:
            raise ValueError(f"the cells of query {each['query']!r} are not those of the plan")
        if len(wrong) != len(plan["cuts"]) or sorted(wrong) != wrong or wrong[0] < 0:
            raise ValueError(f"the wrong cells of query {each['query']!r} are not nested")
        if any(errors > most for errors, most in zip(wrong, each["accepted"], strict=True)):
            raise ValueError(f"query {each['query']!r} has more wrong cells than accepted ones")
        labelled.append((query, wrong))
    return labelled


def percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"


def statement(plan: Any, share: float) -> str:
    of = plan["population"]
    return (
        f"{plan['judge']['name']} may decide {percent(share)} of the {sum(of['cells'])} cells on "
        f"{plan['variable']} in these {len(of['queries'])} queries: at most "
        f"{percent(plan['risk'])} of them are wrong, with confidence {percent(1 - plan['delta'])}."
    )


def differences(document: Any) -> list[str]:
    """What the certificate states otherwise than follows from its plan and its labels."""
    stated, plan = document["predicate"], document["predicate"]["plan"]
    k, delta, needed = plan["number"], plan["delta"], log(1 / plan["level"])
    level = 0.8 * delta if k == 1 else 0.2 * delta / (k * (k - 1))
    labelled = labelled_of(stated, plan)
    phases, wrong = phases_of(plan, labelled), dict(labelled)
    certified = sum(after is not None for _, _, after in phases)
    totals = [sum(row[cut] for row in plan["accepted"]) for cut in range(len(plan["cuts"]))]
    cells = sum(plan["population"]["cells"])
    share = totals[certified - 1] / cells if certified else 0
    pairs = {
        "the digest of the batch": (document["subject"][0]["digest"], {"sha256": plan["batch"]}),
        "that of verdicts": (document["subject"][1]["digest"], {"sha256": plan["verdicts"]}),
        "the digest of the plan": (stated["plan_sha256"], digest_of(plan)),
        "the level of the plan": (plan["level"], level),
        "the kind of plan": ([plan["kind"], plan["form"]], ["certify", "whole"]),
        "the number of certified cuts": (stated["certified"], certified),
        "the share": (stated["share"], share),
        "the statement": (stated["statement"], statement(plan, share)),
        "the last look": (stated["looks"][-1]["labelled"], len(labelled)),
    }
    for cut, (of, total) in enumerate(zip(stated["cuts"], totals, strict=True)):
        before, drawn, after = phases[cut] if cut < len(phases) else ([], [], None)
        most = [max(evidence_of(plan, cut, before, drawn, wrong, risk), default=None)
                for risk in (plan["risk"], *RISKS)]  # fmt: skip
        bound = next((r for r, e in zip(RISKS, most[1:], strict=True) if e and e >= needed), 1.0)
        for name, value in (
            ("share", total / cells), ("accepted", total), ("draws", len(drawn)),
            ("certified_after", after), ("log_needed", needed), ("log_evidence", most[0]),
            ("bound", bound if drawn else None),
        ):  # fmt: skip
            pairs[f"{name} of cut {cut + 1}"] = (of[name], value)
    pairs["whether anything is certified"] = (True, certified > 0)
    differing = ((what, *pair) for what, pair in pairs.items() if not is_same(*pair))
    return [f"{what} is {one}, and {two} follows" for what, one, two in differing]


def is_same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, (int, float)):
        return abs(one - two) <= TOLERANCE * max(1, abs(two))
    return bool(one == two)


def main(arguments: list[str]) -> int:
    content = Path(arguments[0]).read_bytes()
    digest = sha256(content).hexdigest()
    try:
        document = json.loads(content)
        wrong = [] if canonical(document) == content else ["its bytes are not canonical JSON"]
        wrong += differences(document)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        wrong = [f"it is not a certificate ({type(error).__name__}: {error})"]
    if arguments[1:] and arguments[1].strip().lower() != digest:
        wrong.append("its SHA-256 is not the one that was given")
    if wrong:
        print(*wrong, "The certificate is wrong.", sep="\n")
        return 3
    print(document["predicate"]["statement"], f"SHA-256 {digest}", sep="\n")
    print("Genuine." if arguments[1:] else "Consistent, not proven genuine: give its SHA-256.")
    return 0 if arguments[1:] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if sys.argv[1:] else __doc__)
