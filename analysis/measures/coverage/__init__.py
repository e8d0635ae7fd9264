"""CRUX: what passages and reports answer of a query's sub-questions (Ju and others 2025)."""
