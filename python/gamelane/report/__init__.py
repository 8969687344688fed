"""From records to pages, tables and pictures: one file per format. Nothing here can run an engine."""
