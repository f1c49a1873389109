"""Random decisions: fresh ones, and permanent ones that a user takes once."""
