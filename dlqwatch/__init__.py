"""dlqwatch: no dead letter dies unseen."""

__version__ = "0.1.0"
