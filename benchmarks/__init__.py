"""Benchmarks of Tandem: `python -m benchmarks` (see README.md in this folder)."""
