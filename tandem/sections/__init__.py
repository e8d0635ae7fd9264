"""The sections of a report: a module for each, with its numbers, tables, words and citations.

`build` lists them in reading order and computes their JSON, `base` says what a section declares,
and `contents` turns the JSON into the document that formats print. Figures are in
`tandem.figures`.
"""
