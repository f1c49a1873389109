"""Evaluation of collections on known populations, which report with noise, again and again."""
