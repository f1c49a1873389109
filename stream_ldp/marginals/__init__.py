"""Frequencies and means of single attributes, about which users are each asked once: `kind: sampled`."""
