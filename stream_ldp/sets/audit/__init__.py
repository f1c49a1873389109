"""The audit of item sets: by enumeration and by attack, of one phase, an epoch, and what is repeated."""
