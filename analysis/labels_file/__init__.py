"""Labels files, read by columns or line by line into frames and reports, without a database.

`reports` creates the report from files. `frames` reads them: by columns (`columns`) if possible,
and line by line if an error has to be located or a rater repeats a judgement.
"""
