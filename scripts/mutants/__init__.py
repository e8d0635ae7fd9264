"""How much the tests notice: small faults are put into the code one at a time, and tests are run.

`python -m scripts.mutants map` notes which test runs which line. `run` draws a seeded sample of
mutants from nine parts of the code (`strata`), equally many from each, and runs the tests nearest
to each: those that run its lines, the most specific first. `show` prints a mutant as a diff. All of
it happens in copies of the work tree; results stay in `var/mutants`.

`operators` finds what may be changed, `sampling` draws, `nearest` chooses tests, `server` runs them
in a fork that has every library imported and none of our modules, and `running` counts. Mutants
that change nothing which anybody could see are listed in `equivalent.toml`, with the reason.
"""
