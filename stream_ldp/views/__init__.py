"""Joint distributions of many attributes from users who each tell one small set of them, a view."""
