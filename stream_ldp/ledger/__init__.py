"""The privacy ledger of one user: what was spent, what may still be, and the files that store it."""
