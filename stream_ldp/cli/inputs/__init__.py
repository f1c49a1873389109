"""What commands read: records, item sets and populations."""
