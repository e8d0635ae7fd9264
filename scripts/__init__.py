"""What is run around Tandem, never by it."""
