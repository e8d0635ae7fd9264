"""The REST face of judges: their definitions, runs and calls; for researchers and admins."""
