"""The agreement report: each section is a function from a frame to JSON.

`build` puts the sections together. `agreement` and `crowd` are about people, `judges`, `alt_test`,
`floor` and `two_way` about judges compared with people, `evidence` about highlights, and `systems`,
`planning` and `variance_components` about scores of systems. `warnings` lists what a reader should
know. `tandem.formats` and `tandem.figures` present the JSON.
"""
