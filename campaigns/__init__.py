"""Campaigns: long searches for what breaks a program. docs/reliability.md has the results."""
