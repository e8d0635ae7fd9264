"""Runs of judges over campaigns.

`lifecycle` starts, leases, pauses and ends runs. `ledger` plans a judge's assignments and hands
them out under the run's lease. `comparison` compares the judges of a campaign.

The order of locks is the same everywhere: first the run, then its assignments; the lock of a lane
is taken alone.
"""
