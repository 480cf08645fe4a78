"""What listing CRM exports costs, and whether its memory grows with them."""
