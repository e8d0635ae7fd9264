"""Snapshots: reports stored unchanged, and comparisons of two of them.

`store` creates a snapshot, `compare` compares two reports, and `views` are their pages. In the code
a snapshot is a *frozen* report.
"""
