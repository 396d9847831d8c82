"""What several tests need: processes, a terminal and its screen."""
