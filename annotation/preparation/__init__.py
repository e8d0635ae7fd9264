"""The steps of preparing a batch, each with what its author is asked."""
