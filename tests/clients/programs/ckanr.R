# R package ckanr 0.8: https://docs.ropensci.org/ckanr

library(ckanr)

base <- commandArgs(trailingOnly = TRUE)[[1]]
ckanr_setup(url = base)
stopifnot(ping())
name <- package_list(as = "table")[[1]]
found <- package_search(q = "river", as = "table")$results
stopifnot(found$name == name)
dataset <- package_show(name)
stopifnot(dataset$organization$name == organization_list(as = "table")$name)
stopifnot(identical(tag_list(as = "table"), sapply(dataset$tags, `[[`, "name")))
resource <- resource_show(dataset$resources[[1]]$id)
stopifnot(resource_search("name:river")$results[[1]]$id == resource$id)
page <- ds_search(resource_id = resource$id, sort = "code", as = "table")
rows <- ckan_fetch(resource$url, format = resource$format)
stopifnot(nrow(rows) == 3, names(rows)[[1]] == "X_id" || names(rows)[[1]] == "_id")
disk <- tempfile()
invisible(ckan_fetch(resource$url, store = "disk", path = disk, format = resource$format))
cat(jsonlite::toJSON(list(
  dataset = name,
  title = dataset$title,
  resource = resource$id,
  format = resource$format,
  fields = setdiff(page$fields$id, "_id"),
  total = page$total,
  stations = page$records$station,
  file = I(sub("^\ufeff", "", readLines(disk, n = 2, encoding = "UTF-8")))
), auto_unbox = TRUE))
