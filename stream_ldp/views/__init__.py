"""Joint distributions of many attributes from users who each report one small set of them, a view."""
