"""What analysis reads of a campaign in the database, and the reports made of it."""
