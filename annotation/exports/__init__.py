"""Exports: the files of a campaign, each in one of several forms.

`registry` lists the exports by name. `rows` streams lines from the database, and `writers` writes
them as JSON Lines, CSV, TREC or Parquet. `bundles` puts several files together, and has the
functions that pages, the API and the command use. The other modules are single exports.
"""
