-- The values of a flat and short record, as one text to be split into words: PostgreSQL writes them as one
-- JSON list, in a third of the time of datastore_search_values().  Between them may be a comma, too.
-- Null where the record has lists or objects, or escapes of other letters than blanks and quotation marks.
CREATE OR REPLACE FUNCTION datastore_search_flat_text(data jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    list text := "right"(jsonb_path_query_array(data, '$.*')::text, -1);
BEGIN
    IF octet_length(list) > 5000 OR strpos(list, '[') > 0 OR strpos(list, '{') > 0 THEN
        RETURN NULL;
    END IF;
    IF strpos(list, 'null') > 0 THEN
        list := "right"(jsonb_path_query_array(jsonb_strip_nulls(data), '$.*')::text, -1);
    END IF;
    IF strpos(list, '\') > 0 THEN
        IF list ~ '\\[^nrt"]' THEN
            RETURN NULL;
        END IF;
        list := replace(replace(replace(list, '\n', ' '), '\r', ' '), '\t', ' ');
    END IF;
    RETURN replace(ltrim(list, '"'), '"', ' ');
END
$function$;

-- The search vector of a record.  Its limit is 1 MB, so only the first 100,000 letters are indexed.
-- PostgreSQL inlines this body, so the call costs nothing.
CREATE OR REPLACE FUNCTION datastore_search_vector(data jsonb, language regconfig)
RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN datastore_search_lexemes(
    datastore_search_words(coalesce(
        datastore_search_flat_text(data), "left"(datastore_search_values(data), 100000))),
    language);
