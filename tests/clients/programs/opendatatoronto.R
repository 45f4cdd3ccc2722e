# R package opendatatoronto 0.1: https://sharlagelfand.github.io/opendatatoronto
#
# Its address is a constant, and it asks whether the Internet is there; both are replaced here.

library(opendatatoronto)

base <- commandArgs(trailingOnly = TRUE)[[1]]
utils::assignInNamespace("opendatatoronto_ckan_url", base, "opendatatoronto")
utils::assignInNamespace("check_internet", function() NULL, "opendatatoronto")
listed <- list_packages()
package <- search_packages("River levels")
stopifnot(identical(listed$id, package$id), identical(show_package(package)$title, package$title))
resource <- list_package_resources(package)
records <- get_resource(resource)
disk <- tempfile()
utils::download.file(
  ckanr::resource_show(resource$id, url = base)$url, disk, quiet = TRUE, method = "libcurl"
)
cat(jsonlite::toJSON(list(
  dataset = ckanr::package_show(package$id, url = base)$name,
  title = package$title,
  resource = resource$id,
  format = resource$format,
  fields = setdiff(names(records), "_id"),
  total = nrow(records),
  stations = records$station,
  file = readLines(disk, n = 2, encoding = "UTF-8")
), auto_unbox = TRUE))
