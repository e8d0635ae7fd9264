"""The preparation steps, one per folder. A new step also needs two lines in the registry."""
