"""Attacks on the site, and the responses that they must get."""
