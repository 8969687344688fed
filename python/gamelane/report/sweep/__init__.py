"""From the folder of a sweep to a table, a page and pictures. Nothing here can run an engine."""
