"""What every room stands on: errors, checks, words, units, files. Knows nothing of bandits."""
