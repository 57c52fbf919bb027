"""Files that the story copies into its folder, for people to read and change. None is imported from here."""
