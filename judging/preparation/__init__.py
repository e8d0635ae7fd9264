"""Preparing a batch: authors run through the engine, people review, a new batch is built."""
