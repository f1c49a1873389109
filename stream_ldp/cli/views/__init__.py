"""What commands show of plans and answers."""
