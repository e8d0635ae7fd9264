"""Counts of a campaign that are there when a page asks for them, however large it is.

Triggers keep them, so they are right whoever writes: a page, a judge, an import, somebody's SQL.
`counts` says what is counted, `triggers` makes the SQL for both databases, `installing` puts it in
place after each migration, `checking` holds it against the rows, and `reading` is what pages ask.
"""
