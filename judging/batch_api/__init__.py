"""Runs through OpenAI's batch format: requests written to files, results read from files."""
