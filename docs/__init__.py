"""The documentation's pages; `_reference` writes the ones that come from the code."""
