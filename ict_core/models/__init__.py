"""Base models: fetched from the hub or a folder, and read as data."""
