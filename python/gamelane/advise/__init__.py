"""From a measured line to a setting: the line as a scenario, settings tried on it, and what to expect of the best."""
