"""The release of a study: a folder that others can check and read without Tandem.

`freeze` writes it from the database, and `verify` checks it without one: the checksums, that the
files agree with each other, and that headline numbers, measures and tables follow from the labels.
`material` is what tables are filled from: the release's own files, of which `asked` writes some.
"""
