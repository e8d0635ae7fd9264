"""Labels files, read by columns or line by line into frames, without a database.

`frames` reads them: by columns (`columns`) if possible, and line by line (`reader`) if an error has
to be located or a rater repeats a judgement. `rows` is one line, and `wide` a table with one column
for each rater.
"""
