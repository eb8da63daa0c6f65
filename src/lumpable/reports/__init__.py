"""Pictures and pages of everything below: one drawing kit, charts, pages."""
