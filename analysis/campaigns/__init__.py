"""The labels of a campaign in the database, and the reports created from them.

`frames` reads a campaign's labels as a frame, `evidence` its highlights, and `free_text` its
written answers. `reports` creates the report with warnings and what the database knows beside the
labels, and `cache` keeps it until labels or options change.
"""
