"""``flower once``: one agent, once, in a process of its own."""
