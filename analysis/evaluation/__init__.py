"""The papers' measures of a campaign: from its labels and its batch to a report on systems.

`selection` has the options, `inputs`, `answers` and `passages` collect what each measure needs,
`build` computes the report, `leaderboard` and `rendering` show it.
"""
