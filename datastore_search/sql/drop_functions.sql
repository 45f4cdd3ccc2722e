DROP FUNCTION IF EXISTS datastore_search_parsed_tsquery(text, regconfig);
DROP FUNCTION IF EXISTS datastore_search_tsquery(text, regconfig);
DROP FUNCTION IF EXISTS datastore_search_phrase(text);
DROP FUNCTION IF EXISTS datastore_search_vector(jsonb, regconfig);
DROP FUNCTION IF EXISTS datastore_search_lexemes(text, regconfig);
DROP FUNCTION IF EXISTS datastore_search_values(jsonb);
DROP FUNCTION IF EXISTS datastore_search_words(text);
DROP FUNCTION IF EXISTS datastore_search_split(text);
DROP FUNCTION IF EXISTS datastore_search_letters(text);
