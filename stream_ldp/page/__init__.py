"""This package serves a live page with the answers of collections, to browsers on any network that can reach it."""
