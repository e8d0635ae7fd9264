"""Attacks on the site, and what it has to answer."""
