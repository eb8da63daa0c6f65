"""What every room stands on: errors, checks, words, files. Knows nothing of bandits."""
