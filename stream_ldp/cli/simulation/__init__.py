"""Populations whose truth is known, played by commands."""
