"""The pages on which a batch is prepared: its steps, the review of answers, the building."""
