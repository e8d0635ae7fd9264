"""The documentation: it builds, has no broken link, is complete, and says what is true."""
