"""How fast the kernels are: each measured side by side with the form before, peers and limits, in one run."""
