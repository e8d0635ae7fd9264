"""The screens: accounts, a person's work, the item page and what saves it, campaigns."""
