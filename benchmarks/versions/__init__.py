"""What of a contract is embedded again when one of its clauses changes."""
