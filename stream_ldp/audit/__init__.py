"""Audits of a mechanism's privacy that do not trust the mechanism: by enumeration and by attack."""
