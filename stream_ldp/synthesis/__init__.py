"""Synthetic records that have the estimated joint distributions, and hold nothing of any user."""
