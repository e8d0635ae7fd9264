"""Batches in the browser and by the API: files received, looked through, then kept or discarded.

`receiving` takes the files into the `quarantine`; `launching` has a process of its own look through
them (`working`), on a worker or beside the web server; `deciding` is what somebody may then order.
Nothing is a batch before it is kept, and then `datasets.loading` loads it as the command does.
"""
