"""The pages of adjudicators: the queue of disputes, and one of them."""
