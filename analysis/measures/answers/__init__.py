"""CLAPnq: written answers against people's, by words, by grades and by preference."""
