"""Answers: what happens to a judge's replies.

`calls` stores every attempt and counts its tokens and cost. `results` stores a group of calls with
their labels, through `annotation.answers`. `logprobs` computes scores from log probabilities.
`cache` reuses the answers to equal requests.
"""
