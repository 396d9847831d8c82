"""The daemon: many workspaces, many clients, one of each shared thing."""
