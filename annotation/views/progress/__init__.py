"""The pages of progress: a campaign, a person in it, and the labels behind a hint."""
