"""The drawing kit: colours, axes, the library that draws, templates and files. No bandits here."""
