"""Comparing two versions of a document, clause by clause."""
