"""Mutation testing: put small faults into the code one at a time, and see whether tests fail.

`python -m scripts.mutants map` records which test runs which line. `run` samples mutants (seeded)
from nine parts of the code (`strata`), equally many from each, and runs the tests nearest to each:
those that run its lines, the most specific first. `file` runs all mutants of a file against test
modules. `show` prints a mutant as a diff. Everything happens in copies of the work tree; results
are in `var/mutants`.

`operators` finds what may be changed, `sampling` samples, `nearest` chooses tests, `server` runs
them in a fork, `patching` puts mutants into functions that a fork has imported already, and
`running` counts.
Mutants without an observable effect are listed in `equivalent.toml`, with the reason.
"""
