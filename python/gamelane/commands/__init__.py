"""What each subcommand does. `gamelane.cli` declares their options and imports one of these modules to run it."""
