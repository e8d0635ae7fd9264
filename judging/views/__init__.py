"""Pages of judges, for researchers and admins; annotators learn nothing about judges here."""
