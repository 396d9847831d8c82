"""``flowerctl``: everything about operating that is not being attached. One file a verb."""
