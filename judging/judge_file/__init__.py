"""Judge files: a judge, one's own or from a paper, described in TOML.

`document` reads and checks a file, `template` renders its messages and `context` says what they may
name. `answer` builds the parser that the file asks for, `fixtures` runs its examples, and
`completions` writes answers that the file's parser reads as given labels.
"""
