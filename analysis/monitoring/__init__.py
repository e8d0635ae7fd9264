"""People of a campaign against each other while they work: agreement, and what stands out."""
