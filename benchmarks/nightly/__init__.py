"""What a night costs in which nothing changed, beside the listing alone."""
