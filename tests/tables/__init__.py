"""Each table is walked through every entrance: an entry that one of them cannot show fails."""
