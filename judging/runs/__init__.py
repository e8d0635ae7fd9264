"""Runs of judges over campaigns.

`lifecycle` starts, leases, pauses and ends runs. `ledger` plans a judge's assignments and hands
them out under the leases of workers, which `shards` gives them. `grants` shares a server among
them. `comparison` compares the judges of a campaign.

The order of locks is the same everywhere: first the worker's shard, then the run, then assignments,
of which only its own have been locked before the run. The lock of a lane is taken alone.
"""
