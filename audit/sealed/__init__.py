"""Seals of states: a digest of each object over all columns that matter, in the audit trail.

`kinds` has the declarations, which each app registers for its own models (`APP/sealed.py`): the
columns that are sealed, with the events that explain a later change, and the others with the
reason why they are not. `fingerprints` computes the digests of stored objects. `sealing` stores
them for new and legitimately changed objects before each seal, and `checking` finds objects that
were changed, added or deleted without an event.
"""
