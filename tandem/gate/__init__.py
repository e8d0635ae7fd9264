"""Conditions of a release pipeline over reports, comparisons and certificates, without Django.

`figures` finds the numbers of a report by name, `systems` compares two systems or two releases, and
`certified` reads what a judge may decide. Each returns a `Finding`. `findings` turns these into
lines, JSON, Markdown or JUnit, and `request` reads the files and the options.
"""
