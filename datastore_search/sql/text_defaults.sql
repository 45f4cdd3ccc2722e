-- The defaults of the columns of 0003, which code of the state before does not know.

ALTER TABLE datastore_search_field ALTER COLUMN translations SET DEFAULT '{}';

ALTER TABLE datastore_search_resource
    ALTER COLUMN contact SET DEFAULT '',
    ALTER COLUMN contact_email SET DEFAULT '',
    ALTER COLUMN content_language SET DEFAULT '',
    ALTER COLUMN frequency SET DEFAULT '',
    ALTER COLUMN license SET DEFAULT '',
    ALTER COLUMN publisher SET DEFAULT '',
    ALTER COLUMN source SET DEFAULT '',
    ALTER COLUMN spatial SET DEFAULT '',
    ALTER COLUMN tags SET DEFAULT '{}',
    ALTER COLUMN translations SET DEFAULT '{}';
