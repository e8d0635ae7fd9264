"""Runs through files in OpenAI's batch format.

`requests` writes a run's requests to files. `results` reads the files with the answers;
`results.exchange` decides which of the two a given path needs. `format` defines the lines, and
creates files that appear only when all of them are complete.
"""
