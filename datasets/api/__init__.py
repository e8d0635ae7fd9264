"""The REST API of batches, and what all of the API shares.

`base` has the resource and serializer classes, `permissions` the scopes of tokens, `concurrency`
the headers `If-Match` and `Idempotency-Key`, `errors` the form of an error. The other apps build
their API on these.
"""
