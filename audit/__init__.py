"""The audit trail: who did what and when, sealed so that later changes show.

`recording` stores an event in the transaction of the change that it is about. `seals` closes the
newest events under a digest of all earlier ones and verifies the chains. `append_only` has the
database triggers that refuse changes, and `violations` the form in which every check reports.
"""
