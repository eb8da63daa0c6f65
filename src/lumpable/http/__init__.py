"""An experiment over HTTP: JSON in, JSON out. Decides nothing itself."""
