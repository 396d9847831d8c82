"""What flower costs, as ratios to a peer or to a floor that is measured in the same run: ``python -m tests.bench``."""
