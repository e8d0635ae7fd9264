"""The REST API of judges, their runs and their calls, for researchers and admins."""
