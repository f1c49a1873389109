"""The heavy-hitter methods."""
