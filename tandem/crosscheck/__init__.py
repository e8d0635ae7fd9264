"""Compute a report's figures again with other libraries, which share no code with ours.

`figures` collects them, `libraries` is the child process that computes them, and `process` starts
it and compares. A report with a differing figure is never stored as a snapshot.
"""
