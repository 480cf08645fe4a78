"""Alerts: what a person should know of, told once for each incident."""
