"""When things happen: the only place that waits or starts threads."""
