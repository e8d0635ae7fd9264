"""How robust a judge is: its answers again under trials, as a sheet."""
