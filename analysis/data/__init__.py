"""From labels, stored or in a file, to the frame that all statistics take.

`sources` reads a campaign or a file, `labels` is one label, `frame` and `columns` build the frame,
`selection` has a report's options, `resampling` the samples for intervals.
"""
