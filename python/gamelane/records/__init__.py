"""Records of a run, whichever engine made it: tables of samples and a manifest. This package runs no engine."""
