"""Privacy: a ledger keeps the promise of a mechanism on the client, and audits check it by enumeration and attack."""
