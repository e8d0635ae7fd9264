"""Labels files, read by columns or line by line, to frames and reports, without a database.

`reports` creates the report of files. `frames` reads them: by columns (`columns`) if it can, and
line by line if an error has to be located or a rater repeats a judgement.
"""
