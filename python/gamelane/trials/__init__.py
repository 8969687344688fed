"""Blind trials: what a player notices of delay and loss."""
