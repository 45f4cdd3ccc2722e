-- Whether the place of a record is near another one.  Python makes the box around that one.

-- Compares the haversine of the angle between two places with the largest one.  Any number becomes
-- degrees that a double holds: the box says which ones are on the globe.
CREATE OR REPLACE FUNCTION datastore_search_is_near(
    y text, x text, latitude float8, longitude float8, most float8)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN power(sin(radians(
        round(least(greatest(y::numeric, -180), 180), 15)::float8 - latitude) / 2), 2)
    + cos(radians(latitude))
    * cos(radians(round(least(greatest(y::numeric, -180), 180), 15)::float8))
    * power(sin(radians(
        round(least(greatest(x::numeric, -180), 180), 15)::float8 - longitude) / 2), 2)
    <= most;

-- The same of a GeoJSON point, or of a feature with one; null for any other value.
CREATE OR REPLACE FUNCTION datastore_search_is_near(
    value jsonb, latitude float8, longitude float8, most float8)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
    point CONSTANT jsonb :=
        CASE value ->> 'type' WHEN 'Feature' THEN value -> 'geometry' ELSE value END;
    x_y CONSTANT jsonb := jsonb_path_query_first(
        point,
        'strict $ ? (@.type == "Point").coordinates'
        ' ? (@[0] >= -180 && @[0] <= 180 && @[1] >= -90 && @[1] <= 90)',
        '{}',
        true);
BEGIN
    IF x_y IS NOT NULL THEN
        RETURN datastore_search_is_near(x_y ->> 1, x_y ->> 0, latitude, longitude, most);
    END IF;
    RETURN NULL;
END
$function$;

-- Reads a text as JSON; null unless it is the text of an object.
CREATE OR REPLACE FUNCTION datastore_search_json(value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT
AS $function$
BEGIN
    -- A block that catches errors is slow to enter.
    IF value !~ '^\s*\{' THEN
        RETURN NULL;
    END IF;
    BEGIN
        RETURN value::jsonb;
    EXCEPTION WHEN others THEN
        RETURN NULL;
    END;
END
$function$;
