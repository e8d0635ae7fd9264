"""The agreement report: each section is a function from a frame to JSON.

`build` puts the sections together and `cache` keeps the result. `analysis.formats` and
`analysis.figures` show the JSON.
"""
