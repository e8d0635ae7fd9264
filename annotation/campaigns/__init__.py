"""Campaigns: the fixed design, the changeable settings, and the seeded sampling.

`design` declares the options, `settings` what may change later, and `sampling` every random choice.
`relevance` applies the option `passages`, and `rendering` turns guidelines into HTML. Creating,
replaying and simulating campaigns is in `annotation.campaign_setup`, since it needs prerequisites.
"""
