"""The audit of clients: what leaves them, and whether anything but the noisy rows depends on what users hold."""
