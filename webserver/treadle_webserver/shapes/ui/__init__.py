"""What the UI's own endpoints (``/ui``) answer with. Internal: they change with the pages that read them."""
