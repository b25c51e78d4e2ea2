"""A long walk over a route: streamed ground, an operator, what happened where."""
