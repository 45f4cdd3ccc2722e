-- PostgreSQL's casts of texts to the types of fields, for notations that Python does not parse.

-- A timestamp as CKAN writes it: three decimals, or six where three would lose digits.
CREATE OR REPLACE FUNCTION datastore_search_iso(moment timestamp) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE STRICT
AS $function$
    SELECT CASE
        WHEN NOT isfinite(moment) THEN moment::text
        WHEN extract(microseconds FROM moment)::bigint % 1000 = 0
            THEN to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.MS')
        ELSE to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.US')
    END
$function$;

-- A text as a type, in the canonical form that is stored; null when PostgreSQL refuses it.
-- Dates in digits must begin with a year of four digits: 02/03/04 has three meanings.
CREATE OR REPLACE FUNCTION datastore_search_cast(value text, type text) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $function$
DECLARE
    moment timestamp;
    list jsonb;
BEGIN
    IF type IN ('date', 'timestamp', 'timestamptz') THEN
        IF value ~ '^\s*(\d{1,2}\s*[-/. ]\s*\d{1,2}\s*[-/. ]\s*\d|\d{6}(\D|$))' THEN
            RETURN NULL;
        END IF;
        moment := CASE type
            WHEN 'date' THEN value::date::timestamp
            WHEN 'timestamp' THEN value::timestamp
            ELSE value::timestamptz AT TIME ZONE 'UTC' END;
        IF isfinite(moment) AND (moment < '0001-01-01' OR moment >= '10000-01-01') THEN
            RETURN NULL;
        END IF;
        RETURN to_jsonb(CASE
            WHEN NOT isfinite(moment) THEN moment::text
            WHEN type = 'date' THEN to_char(moment, 'YYYY-MM-DD')
            WHEN type = 'timestamp' THEN datastore_search_iso(moment)
            ELSE datastore_search_iso(moment) || '+00:00' END);
    END IF;
    IF type = 'time' THEN
        RETURN to_jsonb(value::time);
    END IF;
    list := CASE type
        WHEN '_text' THEN to_jsonb(value::text[])
        WHEN '_int4' THEN to_jsonb(value::int4[])
        WHEN '_int8' THEN to_jsonb(value::int8[])
        WHEN '_float8' THEN to_jsonb(value::float8[])
        WHEN '_bool' THEN to_jsonb(value::bool[])
    END;
    -- Nested lists are refused: they would not sort as lists do.
    RETURN CASE WHEN jsonb_typeof(list -> 0) = 'array' THEN NULL ELSE list END;
EXCEPTION
    WHEN data_exception OR feature_not_supported OR program_limit_exceeded THEN RETURN NULL;
END
$function$;

-- The elements of a list, by which lists sort and compare; null when the value is no list.
CREATE OR REPLACE FUNCTION datastore_search_elements(list jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
    SELECT CASE WHEN jsonb_typeof(list) = 'array'
        THEN ARRAY(SELECT element FROM jsonb_array_elements_text(list) AS element) END
$function$;
