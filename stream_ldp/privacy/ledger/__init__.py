"""What one user has spent and may still spend, and where it is kept."""
