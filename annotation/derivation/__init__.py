"""Derived batches: people's decisions become the next batch, by a rule.

`service` derives a batch, `labels` reads the labels of a campaign query by query, and `decisions`
decides them: by adjudication, majority, unanimity or one rater. Each module in `rules` is one rule,
and its registry lists them. `datasets.derivation` stores the batch and how it was made.
"""
