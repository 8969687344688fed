"""Searching the parameters of a gateway for the best game at a bounded cost to the rest."""
