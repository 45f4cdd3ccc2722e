"""Pages in the frames of other pages, and charts and maps within a page."""
