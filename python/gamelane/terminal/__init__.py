"""The terminal: what a command prints, and the signals that end it."""
