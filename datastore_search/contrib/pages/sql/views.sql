-- A change of the views of a resource is a change of the resource.

CREATE TRIGGER datastore_search_inserted AFTER INSERT ON datastore_search_pages_savedview
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_resource();
CREATE TRIGGER datastore_search_updated AFTER UPDATE ON datastore_search_pages_savedview
REFERENCING OLD TABLE AS before NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_both_resources();
CREATE TRIGGER datastore_search_deleted AFTER DELETE ON datastore_search_pages_savedview
REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION datastore_search_touch_resource();
