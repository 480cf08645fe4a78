"""Backfills: bringing stored versions up to date with the code, the terms and the dates of now."""
