"""Computing a report's figures again with other libraries, which share no code with ours.

`figures` chooses them, `libraries` is the child process that computes them, `process` starts it
and compares. A report with a figure that differs is never frozen.
"""
