"""A small server that speaks three protocols, answers by rule, and fails on demand.

They are OpenAI's chat completions and responses, and Anthropic's messages.

Start it by itself with `python -m tests.fake_openai --help`.
"""
