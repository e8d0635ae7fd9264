"""Runs through files in OpenAI's batch format.

`requests` writes a run's requests to files. `results` reads the files that came back, and decides
in `exchange` which of the two a given path needs. `format` knows the lines, and creates files that
appear only once all of them are complete.
"""
