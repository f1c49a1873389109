"""Random decisions: fresh ones, and those that a user takes once and for ever."""
