"""The papers' measures of a campaign: from its labels and its batch to a report on systems.

`selection` holds the options and resolves names in them. `passages`, `relevance`, `key_points` and
`answers` collect the input of each measure, chosen by protocol in `parts_by_protocol`; `inputs` is
what they share. `build` computes the report, with `system_rankings`, `people_mean` and `slicing`.
`rendering`, `methods` and `trec` write it, and `views` shows it.
"""
