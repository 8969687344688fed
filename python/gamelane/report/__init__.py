"""Makes pages, tables and pictures from records, one file per format. Nothing here can run an engine."""
