"""From a table of events to what works for whom: evidence, policies and what they are worth."""
