"""The pages on which a researcher makes a campaign and looks after it."""
