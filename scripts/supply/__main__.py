"""`python -m scripts.supply lock [ARGUMENT OF UV…]`"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import scripts.supply
from scripts.supply import locks


def lock(arguments: Sequence[str]) -> int:
    """Write the lock files anew; without arguments, versions that are locked stay."""
    failed = 0
    for each in locks.LOCKS:
        try:
            locks.renew(each, arguments)
        except locks.LockError as error:
            failed = 1
            print(error, file=sys.stderr)
        else:
            print(f"{each.file}: {len(locks.read(locks.ROOT / each.file))} packages")
    return failed


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"lock": lock}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.supply", description=scripts.supply.__doc__
    )
    parser.add_argument("command", choices=COMMANDS)
    given = parser.parse_args(arguments[:1])
    return COMMANDS[given.command](arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
