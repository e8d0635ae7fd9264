"""What preparing a batch consists of: its steps, each with what its author is asked."""
