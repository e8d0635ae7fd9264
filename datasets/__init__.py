"""Batches of queries with the texts that are judged. This app has no raters.

`readers` turn files into the rows of `rows`, `loading` writes the rows to the database, and
`material` reads them back. `text`, `quotes` and `search` work on texts, `digests` checks that no
text has changed since it was loaded. `uploads` is the way from a browser or script to a batch. As
the lowest app, it also has what every app needs: `access`, `api_tokens`, the base of the API in
`api`, the base of commands in `console`, and fast database access in `db`.
"""
