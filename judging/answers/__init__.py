"""What becomes of a judge's reply: calls as stored, labels through `submit`, scores, the cache."""
