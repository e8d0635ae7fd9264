"""What leaves a campaign: every export by name (`registry`), written in one of several forms.

`rows` streams lines from the database, `writers` writes them as JSON Lines, CSV, TREC or Parquet,
and `bundles` puts several files together. The other modules are single exports.
"""
