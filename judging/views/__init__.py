"""The pages of judges, for researchers and admins; annotators learn nothing of judges here."""
