"""The papers' measures of a campaign: from its labels and its batch to a report on systems.

`selection` holds the options and resolves names in them. `passages`, `relevance`, `key_points` and
`answers` collect the input of each measure, using the common types in `inputs`. `parts_by_protocol`
chooses among them. `build` computes the report, with `system_rankings`, `system_values` and
`slicing`. `rendering`, `methods` and `trec` write files, and `views` renders pages.
"""
