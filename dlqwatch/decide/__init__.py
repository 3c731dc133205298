"""Pure decisions: no clock, no random, no I/O, no logging. `now` is always an argument."""
