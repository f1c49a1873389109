"""What an application imports: reporters send perturbed values, subscribers receive the answers."""
