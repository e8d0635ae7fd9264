"""The audit trail: who did what and when, sealed so that later changes show."""
