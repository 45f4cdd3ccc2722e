"""Wagtail's admin: a menu item for the page *Datastore*, and a chooser of resources."""
