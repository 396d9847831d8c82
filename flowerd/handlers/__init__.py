"""What is done for each request: one file a noun; a handler decodes, calls, encodes."""
