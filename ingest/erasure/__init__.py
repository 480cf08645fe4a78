"""Erasure: forgetting a document or a client wherever the pipeline wrote anything of it.

What is written where, and how each place is cleared, is listed in docs/erasure.md.
"""
