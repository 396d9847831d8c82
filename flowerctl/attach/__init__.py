"""``flower``: starts, wakes or attaches, whichever the folder needs."""
