"""The parts of a report, each from a frame to the JSON of `formats`."""
