"""Campaign setup: create a campaign, simulate its design beforehand, and verify its sample later.

`creation` writes a campaign with its items and units, `chosen_items` designs one over items that
were chosen in another campaign, `dry_run` predicts their numbers and the widths of intervals, and
`replay` repeats the sampling. All of them use `annotation.campaigns` and check the prerequisites of
a design.
"""
