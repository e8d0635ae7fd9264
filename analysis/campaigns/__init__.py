"""The labels of a campaign in the database, and the reports created from them.

`frames` reads a campaign's labels as a frame, `marks` its highlights, and `free_text` its written
answers. `reports` creates the report with the warnings of `contamination` and `hints`, and `cache`
keeps it for as long as neither labels nor options change.
"""
