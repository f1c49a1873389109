"""This package plays populations whose truth is known."""
