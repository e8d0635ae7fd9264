"""Pages: accounts, a person's work, the item page and its saving, campaigns."""
