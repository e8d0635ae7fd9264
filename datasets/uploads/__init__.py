"""Uploads of batches, in the browser or by the API: receive files, inspect them, keep them.

`receiving` stores the files in the `quarantine`. A worker inspects them in a process of its own
(`worker`). Then a person keeps or discards them, or has them read again. An upload becomes a batch
only when a person keeps it, and `datasets.loading` then loads it as the command does.
"""
