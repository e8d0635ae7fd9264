"""The release of a study: a folder that others can check and read without Tandem.

`freeze` writes it from the database, and `verify` checks it without one: the checksums, that the
files agree with each other, and that the headline numbers follow from the labels alone.
"""
