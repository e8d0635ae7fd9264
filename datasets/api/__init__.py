"""The REST API of batches, and what all of the API shares.

`routes` declares endpoints and answers with the result of a job. `base` has the classes of
serializers and the form of an error, and `typed` makes serializers of the types of the code.
`permissions` has the scopes of tokens, `concurrency` the headers `If-Match` and `Idempotency-Key`,
and `hooks` the examples of the description. The other apps build their API on these.
"""
