"""Tools for working on Tandem, which Tandem itself never imports."""
