"""Muniment's pipeline: from the sources to a provable index."""
