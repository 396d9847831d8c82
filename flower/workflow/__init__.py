"""Steps and workflows, and the ready-made ones."""
