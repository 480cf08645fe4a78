"""The dashboard: what ran, what waits for a person, and where a passage comes from."""
