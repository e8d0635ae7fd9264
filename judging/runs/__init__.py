"""Runs of judges over campaigns: the ledger of rows, the life of a run, comparing judges."""
