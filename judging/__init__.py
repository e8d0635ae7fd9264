"""Judges: raters that are models, their runs over campaigns, and every call they made.

A judge is defined once (`judges`) and asks through a `backends` module. A run (`runs`) plans its
assignments and is carried out by the `engine`, with requests built in `prompts` and results stored
in `answers`. `lanes` and `servers` say which server may be asked, and `costs` what it costs.
`trials` asks a judge again under perturbations, `jury` combines judges, and `preparation` has them
write parts of a batch. Lower layers never import higher ones (`pyproject.toml` lists the layers).
"""
