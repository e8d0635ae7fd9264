"""Exports: the files of a campaign, each in one of several forms.

`registry` lists the exports by name. `rows` streams lines from the database, and `writers` writes
them in each form: JSON Lines, CSV, TREC, JSON, `parquet` and the `workbook`. `bundles` puts several
files together as `zip`, and has the functions that pages, the API and the command use. The other
modules are single exports.
"""
