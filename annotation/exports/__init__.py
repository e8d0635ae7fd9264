"""What leaves a campaign, by name (`registry`), in which form (`forms`), one file or many."""
