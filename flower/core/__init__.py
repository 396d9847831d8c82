"""One file per idea: what a run is made of."""
