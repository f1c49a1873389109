"""The command that tries collections on known data before anything is collected."""
