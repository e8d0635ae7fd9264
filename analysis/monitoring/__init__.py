"""Watching people while they work: live agreement among them, and outlying raters."""
