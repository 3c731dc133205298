"""Facts into sentences. The only place that holds words for people outside errors."""
