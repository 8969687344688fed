"""Chart style and image files, which reports and claims share."""
