"""Pages of judges, for researchers and admins. Annotators have no access."""
