"""How far a campaign is and how each person works in it, and what of that stands out."""
