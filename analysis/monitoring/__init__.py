"""Live agreement among people, and quality flags, while they work.

`agreement` reads the newest labels and compares each person with the others, `flags` raises the
flags and caches both, and `views` renders them as parts of the progress pages.
"""
