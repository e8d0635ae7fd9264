"""Setting up a campaign: a dry run of its design, creating it, and verifying its sample later."""
