"""What all tests share."""

import signal

# A suite started in the background inherits an ignored Ctrl-C, and some tests send one.
signal.signal(signal.SIGINT, signal.default_int_handler)
