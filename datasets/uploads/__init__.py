"""Uploads of batches, in the browser or by the API: receive files, inspect them, keep them.

`receiving` stores the files in the `quarantine`. A worker inspects them in a
process of its own (`worker`). `decisions` lets a person
keep, discard or read them again. An upload becomes a batch only when a person keeps it, and
`datasets.loading` then loads it as the command does.
"""
