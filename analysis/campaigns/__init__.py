"""The labels of a campaign in the database, and the reports created from them.

`frames` reads a campaign's labels as a frame, `evidence` its highlights, and `free_text` its
written answers. `reports` creates the report with the warnings of `contamination` and
`misplaced_flags`, and `cache` keeps it until labels or options change.
"""
