"""Rebuilding the index into a new collection, from what is stored."""
