"""This package serves HTTP, the same way for the gateway, the page and the admin port."""
