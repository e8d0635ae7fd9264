"""A small server that speaks OpenAI's chat completions, answers by rule, and fails on demand.

Start it by itself with `python -m tests.fake_openai --help`.
"""
