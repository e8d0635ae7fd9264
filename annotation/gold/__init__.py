"""Items whose answers are known beforehand: gold items mixed in, and practice with feedback."""
