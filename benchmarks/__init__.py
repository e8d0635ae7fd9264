"""How fast Tandem is: `python -m benchmarks` (see README.md beside this file)."""
