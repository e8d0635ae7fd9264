"""What a protocol declares: variables, levels, codes and escapes, and the schema of its answers."""
