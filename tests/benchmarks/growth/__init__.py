"""How the cost of a worker grows with what it is asked to do."""
