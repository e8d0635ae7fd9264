"""The REST API of batches, and what all of the API shares.

`routes` declares endpoints, `base` has the classes of serializers, `typed` makes serializers of the
types of the code, and `waiting` answers with the result of a job. `permissions` has the scopes of
tokens, `concurrency` the headers `If-Match` and `Idempotency-Key`, `errors` the form of an error,
and `examples` those of the description. The other apps build their API on these.
"""
