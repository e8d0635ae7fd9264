"""Prompts: from an assignment to the messages that a judge gets.

`template` reads prompt files and fills their slots. `request` presents an item, masks names that
reveal a system, and builds the request with its hash. `perturbations` changes the input of a trial.
`repair` asks again for an answer that cannot be read.

Nothing here may change what an existing judge is sent, since requests are stored by their hash.
"""
