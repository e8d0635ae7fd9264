"""The bench: several judges of one campaign side by side, and how similarly they err.

`numbers` takes the figures from the report, the runs and the trials, and `document` arranges them
for the command, the page and files.
"""
