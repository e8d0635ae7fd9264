"""A report's figures computed again by others' libraries, which share no code with ours."""
