"""Plans that certify what a judge of a campaign may decide, or which of two systems is better.

`cells` reads a judge's verdicts, `plans` commits to a plan and draws queries, `labels` reads what
people answered, and `looks` says where a plan stands.
"""
