"""An app with a page that shows tables."""
