"""Items whose answers are known beforehand: gold ones mixed in, and practice with feedback."""
