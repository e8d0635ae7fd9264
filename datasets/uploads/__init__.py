"""Uploading a batch, in the browser or by the API: receive files, inspect them, keep them.

`receiving` takes the files into the `quarantine`; `launching` starts a process of its own that
inspects them (`worker`), on a Celery worker or beside the web server; `decisions` is what a person
may then order. An upload becomes a batch only when it is kept, and `datasets.loading` then loads
it as the command does.
"""
