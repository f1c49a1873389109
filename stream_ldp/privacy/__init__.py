"""A mechanism's promise: kept on the client by a ledger, checked from outside by enumeration and by attack."""
