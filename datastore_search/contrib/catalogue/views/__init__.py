"""The catalogue for machines: DCAT, feed, sitemap, Data Package."""
