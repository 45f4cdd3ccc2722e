-- A portal at migration 0002, as the code of 2026-11-23 before 0003 made it: two files, a table
-- of the API, an alias, a private resource.  pg_dump of PostgreSQL 18, without Django's tables.

CREATE FUNCTION public.datastore_search_cast(value text, type text) RETURNS jsonb
    LANGUAGE plpgsql STABLE STRICT
    SET "DateStyle" TO 'ISO, YMD'
    SET "TimeZone" TO 'UTC'
    AS $_$
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
$_$;

CREATE FUNCTION public.datastore_search_elements(list jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT CASE WHEN jsonb_typeof(list) = 'array'
        THEN ARRAY(SELECT element FROM jsonb_array_elements_text(list) AS element) END
$$;

CREATE FUNCTION public.datastore_search_iso(moment timestamp without time zone) RETURNS text
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    AS $$
    SELECT CASE
        WHEN NOT isfinite(moment) THEN moment::text
        WHEN extract(microseconds FROM moment)::bigint % 1000 = 0
            THEN to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.MS')
        ELSE to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.US')
    END
$$;

CREATE FUNCTION public.datastore_search_letters(text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    letters text;
    digit integer;
    zero integer;
BEGIN
    IF octet_length(text) = char_length(text) THEN
        RETURN text;
    END IF;
    letters := text;
    IF letters IS NOT NFKC NORMALIZED THEN
        -- A sign is no part of the word before it, and a small digit none of the number: 10², 5½.
        letters := translate(letters, '™℠´¨¯¸˘˙˚˛˜˝', '            ');
        letters := regexp_replace(
            letters,
            '([0-9])([²³¹¼-¾\u2070-\u2079\u2080-\u2089\u2150-\u215F\u2189])', '\1 \2', 'g');
        letters := "left"(normalize(letters, NFKC), 100000);
        letters := regexp_replace(letters, ' [\u0300-\u036F\u064B-\u0652\u3099\u309A]+', ' ', 'g');
    END IF;
    IF letters !~ '[^\u0001-\u00DE\u00E0-\u012F\u0131-\u024F\u0300-\u036F'
            '\u1E00-\u1E9D\u1E9F-\u1EFF\u2010-\u2BFF]' THEN
        RETURN letters;
    END IF;
    letters := replace(replace(replace(letters, 'ß', 'ss'), 'ẞ', 'SS'), 'İ', 'i');
    -- Greek capitals have no accents, and σ is ς at the end of a word.  Russian ё is often written е.
    IF letters ~ '[\u0370-\u045F\u1F00-\u1FFF]' THEN
        letters := translate(letters, 'ςΣёЁ', 'σσеЕ');
        IF letters ~ '[\u0386-\u0390\u03AA-\u03B0\u03CA-\u03CE\u1F00-\u1FFF]' THEN
            letters := normalize(regexp_replace(
                normalize(letters, NFD), '([\u0370-\u03FF])[\u0300-\u036F]+', '\1', 'g'), NFC);
        END IF;
    END IF;
    -- Hebrew and Arabic: points and tatweel are left out; Persian and Urdu forms of letters become
    -- the Arabic ones, and the seats of a hamza the bare letters.
    IF letters ~ '[\u0591-\u06FF]' THEN
        letters := translate(
            regexp_replace(
                letters,
                '[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u0640'
                    '\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED\u200D]+',
                '', 'g'),
            U&'\0622\0623\0625\0671\0624\0626\0649\06CC\06D0\06A9\0629\06C0\06C1\06C2\06D5',
            U&'\0627\0627\0627\0627\0648\064A\064A\064A\064A\0643\0647\0647\0647\0647\0647');
    END IF;
    -- The scripts of India, Tibet and South-East Asia.  Joiners choose the shape of a letter, in the
    -- last ones a blank without width the end of a line.
    IF letters ~ '[\u0900-\u109F\u1780-\u17FF]' THEN
        letters := regexp_replace(
            letters, '([\u0900-\u0DFF])[\u200C\u200D]+', '\1', 'g');
        letters := regexp_replace(
            letters,
            '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF])[\u200B-\u200D\u2060]+', '\1', 'g');
        -- Typed before or after its tone mark, the ring of ำ looks the same.
        letters := regexp_replace(letters, '(\u0E4D)([\u0E48-\u0E4B])', '\2\1', 'g');
    END IF;
    LOOP
        digit := ascii(substring(
            letters FROM
            '[\u0660-\u0669\u06F0-\u06F9\u0966-\u096F\u09E6-\u09EF\u0A66-\u0A6F\u0AE6-\u0AEF'
            '\u0B66-\u0B6F\u0BE6-\u0BEF\u0C66-\u0C6F\u0CE6-\u0CEF\u0D66-\u0D6F\u0DE6-\u0DEF'
            '\u0E50-\u0E59\u0ED0-\u0ED9\u0F20-\u0F29\u1040-\u1049\u1090-\u1099\u17E0-\u17E9]'));
        EXIT WHEN digit IS NULL;
        -- Zeros are at the beginning of a block of 16 letters, in India at its seventh.
        zero := digit / 16 * 16 + CASE WHEN digit BETWEEN 2304 AND 3583 THEN 6 ELSE 0 END;
        letters := translate(
            letters,
            (SELECT string_agg(chr(zero + number), '' ORDER BY number)
                FROM generate_series(0, 9) AS number),
            '0123456789');
    END LOOP;
    RETURN letters;
END
$$;

CREATE FUNCTION public.datastore_search_lexemes(words text, language regconfig) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    written tsvector := to_tsvector('pg_catalog.simple', words);
    distinct_words text;
    folded text;
    vector tsvector := written;
BEGIN
    IF octet_length(words) = char_length(words) THEN
        distinct_words := array_to_string(tsvector_to_array(written), ' ');
    ELSIF words !~ '[A-Za-z\u00C0-\u0E00\u0F00-\u0FFF\u10A0-\u177F\u1800-\u1FFF\uA4D0-\uA9DF'
            '\uAA00-\uAA5F\uAA80-\uD7FF\uFB00-\uFFFF\U00010000-\U0001AFEF]' THEN
        RETURN written;
    ELSE
        distinct_words := regexp_replace(
            array_to_string(tsvector_to_array(written), ' '),
            '[\u0E01-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\uA4CF\uA9E0-\uA9FF\uAA60-\uAA7F'
                '\U0001AFF0-\U000323AF][\u0E01-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\uA4CF\uA9E0-\uA9FF'
                '\uAA60-\uAA7F\U0001AFF0-\U000323AF ]*',
            '', 'g');
        folded := normalize(translate(
            normalize(distinct_words, NFD),
            'đĐłŁøØħĦŧŦı'
                || U&'\0300\0301\0302\0303\0304\0305\0306\0307\0308\0309\030A\030B\030C\030D'
                || U&'\030E\030F\0310\0311\0312\0313\0314\0315\0316\0317\0318\0319\031A\031B'
                || U&'\031C\031D\031E\031F\0320\0321\0322\0323\0324\0325\0326\0327\0328\0329'
                || U&'\032A\032B\032C\032D\032E\032F\0330\0331\0332\0333\0334\0335\0336\0337'
                || U&'\0338\0339\033A\033B\033C\033D\033E\033F\0340\0341\0342\0343\0344\0345'
                || U&'\0346\0347\0348\0349\034A\034B\034C\034D\034E\034F\0350\0351\0352\0353'
                || U&'\0354\0355\0356\0357\0358\0359\035A\035B\035C\035D\035E\035F\0360\0361'
                || U&'\0362\0363\0364\0365\0366\0367\0368\0369\036A\036B\036C\036D\036E\036F'
                || U&'\0591\0592\0593\0594\0595\0596\0597\0598\0599\059A\059B\059C\059D\059E'
                || U&'\059F\05A0\05A1\05A2\05A3\05A4\05A5\05A6\05A7\05A8\05A9\05AA\05AB\05AC'
                || U&'\05AD\05AE\05AF\05B0\05B1\05B2\05B3\05B4\05B5\05B6\05B7\05B8\05B9\05BA'
                || U&'\05BB\05BC\05BD\05BF\05C1\05C2\05C4\05C5\05C7\064B\064C\064D\064E\064F'
                || U&'\0650\0651\0652\0653\0654\0655\0656\0657\0658\0659\065A\065B\065C\065D'
                || U&'\065E\065F\0670',
            'dDlLoOhHtTi'), NFC);
        IF folded <> distinct_words THEN
            vector := vector || strip(to_tsvector('pg_catalog.simple', folded));
        END IF;
    END IF;
    IF language <> 'pg_catalog.simple'::regconfig THEN
        vector := vector || strip(to_tsvector(language, distinct_words));
    END IF;
    RETURN vector;
END
$$;

CREATE FUNCTION public.datastore_search_parsed_tsquery(q text, language regconfig) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    letters text := datastore_search_letters(regexp_replace(
        normalize(q, NFC),
        '[\u00A0\u00A8\u00AF\u00B4\u00B8\u02D8-\u02DD\u037A\u037E\u0384\u0385\u1FBD\u1FBF-\u1FC1'
            '\u1FCD-\u1FCF\u1FDD-\u1FDF\u1FED-\u1FEF\u1FFD\u1FFE\u2017\u2024-\u2026\u202F\u203C-\u205F'
            '\u207A-\u207E\u208A-\u208E\u2100-\u2106\u2474-\u24B5\u2A74-\u2A76\u309B\u309C\u3200-\u3243'
            '\u33C2-\u33D8\uFB29\uFC5E-\uFC63\uFDFA\uFDFB\uFE10-\uFE6B\uFE70-\uFE7E\uFF01-\uFF0F'
            '\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF5E\uFFE3\U0001F100-\U0001F129]',
        '"', 'g'));
    query tsquery := to_tsquery(language, letters);
    lexemes text;
    lexeme text;
BEGIN
    IF strpos(letters, '<') > 0 THEN
        query := query || to_tsquery('pg_catalog.simple', letters);
    END IF;
    lexemes := query;
    FOR lexeme IN
        SELECT DISTINCT parts[1]
        FROM regexp_matches(lexemes, '''((?:[^'']|'''')+)''', 'g') AS parts
        WHERE strpos(datastore_search_split(parts[1]), U&'\001F') > 0
    LOOP
        lexemes := regexp_replace(
            lexemes,
            '''' || regexp_replace(lexeme, '(\W)', '\\\1', 'g') || '''(:[*A-D]+)?',
            '(' || replace(
                datastore_search_tsquery(lexeme, 'pg_catalog.simple')::text, '\', '\\') || ')',
            'g');
    END LOOP;
    RETURN lexemes;
END
$$;

CREATE FUNCTION public.datastore_search_phrase(run text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
DECLARE
    parts text[] := string_to_array(run, U&'\001F');
    words text[];
    last_word integer;
    chosen text[];
    phrase text;
    position_before integer := 0;
    previous_position integer := 0;
    ending text := CASE WHEN run ~ '(\u001F|[0-9]{3})$' THEN ':*' ELSE '' END;
BEGIN
    FOR part IN 1 .. cardinality(parts) LOOP
        words := string_to_array(parts[part], ' ');
        last_word := greatest(cardinality(words) - 1, least(cardinality(words), 1));
        FOR number IN 1 .. last_word LOOP
            IF number % 2 = 1 OR number = last_word THEN
                phrase := concat_ws(
                    ' <' || position_before + number - previous_position || '> ',
                    phrase, quote_literal(words[number]));
                chosen := chosen || quote_literal(words[number]);
                previous_position := position_before + number;
            END IF;
        END LOOP;
        position_before := position_before + cardinality(words);
    END LOOP;
    IF cardinality(chosen) > 1
        AND cardinality(chosen) = (SELECT count(DISTINCT word) FROM unnest(chosen) AS word)
    THEN
        RETURN '(' || phrase || ending || ' | ' || array_to_string(chosen, ' <0> ') || ending || ')';
    END IF;
    RETURN '(' || phrase || ending || ')';
END
$_$;

CREATE FUNCTION public.datastore_search_set_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    NEW.version := (extract(epoch FROM moment) * 1000000)::bigint;
    IF TG_OP = 'UPDATE' THEN
        NEW.version := greatest(NEW.version, OLD.version + 1);
        NEW.modified_at := moment;
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION public.datastore_search_split(text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    -- The T of a timestamp is no letter of a word; few texts have one, and LIKE is fast.
    parted text := CASE WHEN text LIKE '%-__T__:%'
        THEN regexp_replace(text, '(-\d\d)T(\d\d:)', '\1 \2', 'g') ELSE text END;
    -- A chain of replace() takes 4 µs for 600 bytes, translate() 76, regexp_replace() 17.
    words text := replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
        parted, '-', ' '), '+', ' '), '.', ' '), '/', ' '), '@', ' '), ':', ' '), '<', ' '),
        '>', ' '), '&', ' '), '_', ' ');
BEGIN
    words := replace(replace(replace(words, '~', ' '), '''', ' '), '\', ' ');
    IF octet_length(words) = char_length(words) THEN
        RETURN words;
    END IF;
    DECLARE
        -- Thai, Lao, Burmese, Khmer; kana, bopomofo, Han.
        letter CONSTANT text :=
            '[\u0E01-\u0E30\u0E32\u0E33\u0E40-\u0E46\u0E81-\u0EB0\u0EB2\u0EB3\u0EBD-\u0EC6\u0EDC-\u0EDF'
            '\u1000-\u102A\u103F\u1050-\u1055\u105A-\u105D\u1061\u1065\u1066\u106E-\u1070\u1075-\u1081'
            '\u108E\uA9E0-\uA9E4\uA9E6-\uA9EF\uA9FA-\uA9FE\uAA60-\uAA76\uAA7A\uAA7E\uAA7F'
            '\u1780-\u17B3\u17D7\u17DC'
            '\u3005-\u3007\u3021-\u3029\u3038-\u303C\u3041-\u3096\u309D-\u309F\u30A1-\u30FA\u30FC-\u312F'
            '\u31A0-\u31BF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF'
            '\U0001AFF0-\U0001B16F\U00020000-\U000323AF]';
        letter_with_marks CONSTANT text := letter || '(?:[\u1039\u17D2]' || letter
            || '|[\u0E31\u0E34-\u0E3A\u0E47-\u0E4E\u0EB1\u0EB4-\u0EBC\u0EC8-\u0ECE'
            '\u102B-\u103E\u1056-\u1059\u105E-\u1060\u1062-\u1064\u1067-\u106D\u1071-\u1074\u1082-\u108D'
            '\u108F\u109A-\u109D\uA9E5\uAA7B-\uAA7D\u17B4-\u17D3\u17DD\u3099\u309A'
            '\uFE00-\uFE0F\U000E0100-\U000E01EF])*';
    BEGIN
        IF words ~ letter THEN
            words := replace(words, U&'\001F', ' ');
            words := regexp_replace(
                words, '(?:' || letter_with_marks || ')+', U&'\001F\\&\001F', 'g');
            words := regexp_replace(
                words, '(?<![\u001F\u1039\u17D2])' || letter_with_marks, '\& \&', 'g');
            words := "left"(words, 200000);
        END IF;
    END;
    -- Persian joins the parts of a word with a non-joiner, a blank, or nothing.
    IF strpos(words, U&'\200C') > 0 THEN
        RETURN concat_ws(' ', replace(words, U&'\200C', ' '), (
            SELECT string_agg(replace(parts[1], U&'\200C', ''), ' ')
            FROM regexp_matches(
                words, '[\u0620-\u06FF]+(?:\u200C+[\u0620-\u06FF]+)+', 'g') AS parts));
    END IF;
    RETURN words;
END
$$;

CREATE FUNCTION public.datastore_search_touch_both_resources() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format(
        'UPDATE %I.datastore_search_resource SET version = version'
        ' WHERE id IN (SELECT resource_id FROM before UNION SELECT resource_id FROM changed)',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.datastore_search_touch_resource() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format(
        'UPDATE %I.datastore_search_resource SET version = version'
        ' WHERE id IN (SELECT resource_id FROM changed)',
        TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.datastore_search_tsquery(q text, language regconfig) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    words text := datastore_search_words(regexp_replace(q, '\u200C+(?=[\u0620-\u06FF])', ' ', 'g'));
    run CONSTANT text :=
        '(?:(?<![^\u0001-\u002F:-@\u005B-`\u007B-\u007F])[0-9]+)?'
        '(?:\u001F[^\u001F]+\u001F(?:[0-9]+(?=\u001F))?)+'
        '(?:[0-9]+(?![^\u0001-\u002F:-@\u005B-`\u007B-\u007F]))?';
    runs text;
BEGIN
    IF strpos(words, U&'\001F') > 0 THEN
        runs := (
            SELECT string_agg(DISTINCT datastore_search_phrase(parts[1]), ' & ')
            FROM regexp_matches(words, run, 'g') AS parts);
        words := regexp_replace(words, run, ' ', 'g');
    END IF;
    RETURN nullif(concat_ws(' & ', runs, (
        SELECT string_agg(
            '(''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''''
                || CASE WHEN is_beginning THEN ':*' ELSE '' END
                || CASE WHEN numnode(stem) > 0 AND NOT (
                        is_beginning AND numnode(stem) = 1
                        AND starts_with(btrim(stem::text, ''''), lexeme))
                    THEN ' | (' || stem::text || ')' ELSE '' END
                || CASE WHEN strpos(lexeme, 'ı') > 0
                    THEN ' | ''' || replace(replace(lexeme, '''', ''''''), 'ı', 'i') || ''':*'
                    ELSE '' END
                || ')',
            ' & ')
        FROM unnest(to_tsvector('pg_catalog.simple', words)),
            LATERAL (
                SELECT
                    CASE WHEN language <> 'pg_catalog.simple'::regconfig
                        THEN plainto_tsquery(language, lexeme) END AS stem,
                    char_length(lexeme) >= 3 OR lexeme ~ '^[\uAC00-\uD7A3]' AS is_beginning
            ) AS forms
    )), '')::tsquery;
END
$$;

CREATE FUNCTION public.datastore_search_values(data jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
BEGIN
    RETURN coalesce((
        SELECT string_agg(
            CASE WHEN jsonb_typeof(field.value) IN ('object', 'array') THEN (
                SELECT string_agg(leaf.value #>> '{}', ' ')
                FROM (
                    SELECT jsonb_path_query(field.value, 'strict $.**') AS value
                    UNION ALL
                    SELECT jsonb_path_query(
                        field.value,
                        'strict $.** ? (@.type() == "object").keyvalue().key')
                ) AS leaf
                WHERE jsonb_typeof(leaf.value) NOT IN ('object', 'array')
            ) ELSE field.value #>> '{}' END, ' ')
        FROM jsonb_each(data) AS field
    ), '');
END
$_$;

CREATE FUNCTION public.datastore_search_words(text text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN public.datastore_search_split(public.datastore_search_letters(text));

CREATE FUNCTION public.datastore_search_vector(data jsonb, language regconfig) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN public.datastore_search_lexemes(public.datastore_search_words("left"(public.datastore_search_values(data), 100000)), language);

CREATE TABLE public.datastore_search_alias (
    id bigint NOT NULL,
    name character varying(200) NOT NULL,
    resource_id uuid NOT NULL
);

ALTER TABLE public.datastore_search_alias ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_alias_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_field (
    id bigint NOT NULL,
    name character varying(500) NOT NULL,
    type character varying(63) NOT NULL,
    "position" integer NOT NULL,
    label character varying(500) NOT NULL,
    notes text NOT NULL,
    is_sparse boolean NOT NULL,
    has_order_index boolean NOT NULL,
    chosen_type character varying(100) NOT NULL,
    extra_info jsonb NOT NULL,
    resource_id uuid NOT NULL,
    CONSTRAINT datastore_search_field_position_check CHECK (("position" >= 0))
);

ALTER TABLE public.datastore_search_field ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_field_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_load (
    id bigint NOT NULL,
    state character varying(20) NOT NULL,
    mode character varying(10) NOT NULL,
    source character varying(500) NOT NULL,
    file character varying(500) NOT NULL,
    url text NOT NULL,
    http_validators jsonb NOT NULL,
    checksum character varying(64) NOT NULL,
    options jsonb NOT NULL,
    record_count bigint NOT NULL,
    rows_written bigint NOT NULL,
    rows_total bigint,
    progress double precision NOT NULL,
    heartbeat_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    notices jsonb NOT NULL,
    row_error_count bigint NOT NULL,
    preview jsonb,
    failure jsonb,
    queued_at timestamp with time zone,
    started_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    resource_id uuid NOT NULL
);

ALTER TABLE public.datastore_search_load ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_load_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_record_1 (
    _id bigint NOT NULL,
    data jsonb NOT NULL,
    search tsvector GENERATED ALWAYS AS (public.datastore_search_vector(data, 'simple'::regconfig)) STORED NOT NULL
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY public.datastore_search_record_1 ALTER COLUMN data SET STATISTICS 200;

ALTER TABLE public.datastore_search_record_1 ALTER COLUMN _id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_record_1__id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_record_2 (
    _id bigint NOT NULL,
    data jsonb NOT NULL,
    search tsvector GENERATED ALWAYS AS (public.datastore_search_vector(data, 'english'::regconfig)) STORED NOT NULL
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY public.datastore_search_record_2 ALTER COLUMN data SET STATISTICS 200;

ALTER TABLE public.datastore_search_record_2 ALTER COLUMN _id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_record_2__id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_record_3 (
    _id bigint NOT NULL,
    data jsonb NOT NULL,
    search tsvector GENERATED ALWAYS AS (public.datastore_search_vector(data, 'english'::regconfig)) STORED NOT NULL
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY public.datastore_search_record_3 ALTER COLUMN data SET STATISTICS 200;

ALTER TABLE public.datastore_search_record_3 ALTER COLUMN _id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_record_3__id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_resource (
    id uuid NOT NULL,
    name character varying(100) NOT NULL,
    title character varying(300) NOT NULL,
    description text NOT NULL,
    private boolean NOT NULL,
    language character varying(63) NOT NULL,
    primary_key jsonb NOT NULL,
    indexes jsonb,
    options jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    table_version_id bigint
);

CREATE TABLE public.datastore_search_rowerror (
    id bigint NOT NULL,
    line bigint NOT NULL,
    field text NOT NULL,
    value text NOT NULL,
    message jsonb NOT NULL,
    load_id bigint NOT NULL
);

ALTER TABLE public.datastore_search_rowerror ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_rowerror_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.datastore_search_tableversion (
    id bigint NOT NULL,
    origin character varying(10) NOT NULL,
    language character varying(63) NOT NULL,
    indexes jsonb NOT NULL,
    record_count bigint NOT NULL,
    value_counts jsonb NOT NULL,
    profiles jsonb NOT NULL,
    fingerprint character varying(64) NOT NULL,
    field_formats jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    load_id bigint,
    resource_id uuid NOT NULL
);

ALTER TABLE public.datastore_search_tableversion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.datastore_search_tableversion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

INSERT INTO public.datastore_search_alias VALUES
	(1, 'the stations', '00000000-0000-0000-0000-000000000001'),
	(2, 'written', '00000000-0000-0000-0000-000000000003');

INSERT INTO public.datastore_search_field VALUES
	(1, 'code', 'text', 0, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000001'),
	(3, 'kind', 'text', 2, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000001'),
	(4, 'level', 'numeric', 3, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000001'),
	(5, 'since', 'date', 4, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000001'),
	(6, 'at', 'timestamp', 5, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000001'),
	(2, 'name', 'text', 1, 'Tên', 'Of the station', false, false, '', '{}', '00000000-0000-0000-0000-000000000001'),
	(7, 'a', 'int4', 0, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000002'),
	(8, 'b', 'text', 1, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000002'),
	(9, 'a,a', 'int4', 2, '', '', true, false, '', '{}', '00000000-0000-0000-0000-000000000002'),
	(10, 'code', 'text', 0, 'Code', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000003'),
	(11, 'more', 'json', 1, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000003'),
	(12, 'list', '_text', 2, '', '', false, false, '', '{}', '00000000-0000-0000-0000-000000000003');

INSERT INTO public.datastore_search_load VALUES
	(3, 'ready', 'append', 'stations.csv', '', '', '{}', 'dea6c2c172b3128e62a88cdc69a6db33c8751add184f96d7ebcf7bb28ff70c29', '{"mode": "append"}', 1, 1, 1, 1, '2026-11-23 17:06:04.956737+00', NULL, '[{"code": "notice.fields_added", "parameters": {"fields": "“a,a”"}}, {"code": "notice.fields_empty", "parameters": {"fields": "“a”, “b”"}}, {"code": "notice.records_merged", "parameters": {"same": 0, "added": 1, "changed": 0}}]', 0, NULL, NULL, NULL, '2026-11-23 17:06:02.833873+00', '2026-11-23 17:06:02.754712+00', '2026-11-23 17:06:04.850635+00', '00000000-0000-0000-0000-000000000002'),
	(1, 'ready', 'replace', 'stations.csv', '', '', '{}', '3bf9a0399d28a7e24944de9d26a0c06932ade152ba0c44552da1fe09fbe81029', '{"key": ["code"]}', 30, 30, 30, 1, '2026-11-23 17:05:59.959516+00', NULL, '[]', 0, NULL, NULL, NULL, '2026-11-23 17:05:57.300557+00', '2026-11-23 17:05:57.243701+00', '2026-11-23 17:05:59.93503+00', '00000000-0000-0000-0000-000000000001'),
	(2, 'ready', 'replace', 'stations.csv', '', '', '{}', '15920f3fb7c051cc15fceee84432e8803a139a9b53a4ea832c37bf1109e200cf', '{}', 2, 2, 2, 1, '2026-11-23 17:06:02.642688+00', NULL, '[]', 0, NULL, NULL, NULL, '2026-11-23 17:06:00.23216+00', '2026-11-23 17:06:00.202659+00', '2026-11-23 17:06:02.612056+00', '00000000-0000-0000-0000-000000000002');

INSERT INTO public.datastore_search_record_1 VALUES
	(1, '{"at": "2001-02-11T01:30:00.000", "code": "001", "kind": "river", "name": "Sông Hồng 1", "level": 0.125, "since": "2001-02-11"}', DEFAULT),
	(2, '{"at": "2002-03-11T02:30:00.000", "code": "002", "kind": "river", "name": "Sông Hồng 2", "level": 0.25, "since": "2002-03-11"}', DEFAULT),
	(3, '{"at": "2003-04-11T03:30:00.000", "code": "003", "kind": "lake", "name": "Cầu Long Biên 3", "level": 0.375, "since": "2003-04-11"}', DEFAULT),
	(4, '{"at": "2004-05-11T04:30:00.000", "code": "004", "kind": "river", "name": "Sông Hồng 4", "level": 0.5, "since": "2004-05-11"}', DEFAULT),
	(5, '{"at": "2005-06-11T05:30:00.000", "code": "005", "kind": "river", "name": "Sông Hồng 5", "level": 0.625, "since": "2005-06-11"}', DEFAULT),
	(6, '{"at": "2006-07-11T06:30:00.000", "code": "006", "kind": "lake", "name": "Cầu Long Biên 6", "level": 0.75, "since": "2006-07-11"}', DEFAULT),
	(7, '{"at": "2007-08-11T07:30:00.000", "code": "007", "kind": "river", "name": "Sông Hồng 7", "level": 0.875, "since": "2007-08-11"}', DEFAULT),
	(8, '{"at": "2008-09-11T08:30:00.000", "code": "008", "kind": "river", "name": "Sông Hồng 8", "level": 1.0, "since": "2008-09-11"}', DEFAULT),
	(9, '{"at": "2009-01-11T00:30:00.000", "code": "009", "kind": "lake", "name": "Cầu Long Biên 9", "level": 1.125, "since": "2009-01-11"}', DEFAULT),
	(10, '{"at": "2010-02-11T01:30:00.000", "code": "010", "kind": "river", "name": "Sông Hồng 10", "level": 1.25, "since": "2010-02-11"}', DEFAULT),
	(11, '{"at": "2011-03-11T02:30:00.000", "code": "011", "kind": "river", "name": "Sông Hồng 11", "level": 1.375, "since": "2011-03-11"}', DEFAULT),
	(12, '{"at": "2012-04-11T03:30:00.000", "code": "012", "kind": "lake", "name": "Cầu Long Biên 12", "level": 1.5, "since": "2012-04-11"}', DEFAULT),
	(13, '{"at": "2013-05-11T04:30:00.000", "code": "013", "kind": "river", "name": "Sông Hồng 13", "level": 1.625, "since": "2013-05-11"}', DEFAULT),
	(14, '{"at": "2014-06-11T05:30:00.000", "code": "014", "kind": "river", "name": "Sông Hồng 14", "level": 1.75, "since": "2014-06-11"}', DEFAULT),
	(15, '{"at": "2015-07-11T06:30:00.000", "code": "015", "kind": "lake", "name": "Cầu Long Biên 15", "level": 1.875, "since": "2015-07-11"}', DEFAULT),
	(16, '{"at": "2016-08-11T07:30:00.000", "code": "016", "kind": "river", "name": "Sông Hồng 16", "level": 2.0, "since": "2016-08-11"}', DEFAULT),
	(17, '{"at": "2017-09-11T08:30:00.000", "code": "017", "kind": "river", "name": "Sông Hồng 17", "level": 2.125, "since": "2017-09-11"}', DEFAULT),
	(18, '{"at": "2018-01-11T00:30:00.000", "code": "018", "kind": "lake", "name": "Cầu Long Biên 18", "level": 2.25, "since": "2018-01-11"}', DEFAULT),
	(19, '{"at": "2019-02-11T01:30:00.000", "code": "019", "kind": "river", "name": "Sông Hồng 19", "level": 2.375, "since": "2019-02-11"}', DEFAULT),
	(20, '{"at": "2020-03-11T02:30:00.000", "code": "020", "kind": "river", "name": "Sông Hồng 20", "level": 2.5, "since": "2020-03-11"}', DEFAULT),
	(21, '{"at": "2021-04-11T03:30:00.000", "code": "021", "kind": "lake", "name": "Cầu Long Biên 21", "level": 2.625, "since": "2021-04-11"}', DEFAULT),
	(22, '{"at": "2022-05-11T04:30:00.000", "code": "022", "kind": "river", "name": "Sông Hồng 22", "level": 2.75, "since": "2022-05-11"}', DEFAULT),
	(23, '{"at": "2023-06-11T05:30:00.000", "code": "023", "kind": "river", "name": "Sông Hồng 23", "level": 2.875, "since": "2023-06-11"}', DEFAULT),
	(24, '{"at": "2000-07-11T06:30:00.000", "code": "024", "kind": "lake", "name": "Cầu Long Biên 24", "level": 3.0, "since": "2000-07-11"}', DEFAULT),
	(25, '{"at": "2001-08-11T07:30:00.000", "code": "025", "kind": "river", "name": "Sông Hồng 25", "level": 3.125, "since": "2001-08-11"}', DEFAULT),
	(26, '{"at": "2002-09-11T08:30:00.000", "code": "026", "kind": "river", "name": "Sông Hồng 26", "level": 3.25, "since": "2002-09-11"}', DEFAULT),
	(27, '{"at": "2003-01-11T00:30:00.000", "code": "027", "kind": "lake", "name": "Cầu Long Biên 27", "level": 3.375, "since": "2003-01-11"}', DEFAULT),
	(28, '{"at": "2004-02-11T01:30:00.000", "code": "028", "kind": "river", "name": "Sông Hồng 28", "level": 3.5, "since": "2004-02-11"}', DEFAULT),
	(29, '{"at": "2005-03-11T02:30:00.000", "code": "029", "kind": "river", "name": "Sông Hồng 29", "level": 3.625, "since": "2005-03-11"}', DEFAULT),
	(30, '{"at": "2006-04-11T03:30:00.000", "code": "030", "kind": "lake", "name": "Cầu Long Biên 30", "level": 3.75, "since": "2006-04-11"}', DEFAULT);

INSERT INTO public.datastore_search_record_2 VALUES
	(1, '{"a": 1, "b": "x"}', DEFAULT),
	(2, '{"a": 2, "b": "y"}', DEFAULT),
	(3, '{"a": null, "b": null, "a,a": 1}', DEFAULT);

INSERT INTO public.datastore_search_record_3 VALUES
	(1, '{"code": "a", "list": ["x", "y"], "more": {"deep": [1, "Hà Nội"]}}', DEFAULT),
	(2, '{"code": "b", "list": [], "more": null}', DEFAULT);

INSERT INTO public.datastore_search_resource VALUES
	('00000000-0000-0000-0000-000000000001', 'stations', 'Stations', 'Rivers and *lakes*', false, 'simple', '["code"]', NULL, '{}', '2026-11-23 17:05:57.228361+00', '2026-11-23 17:06:00.179833+00', 1795453560179833, 1),
	('00000000-0000-0000-0000-000000000002', 'private', '', '', true, 'english', '[]', NULL, '{}', '2026-11-23 17:06:00.19225+00', '2026-11-23 17:06:04.909498+00', 1795453564909498, 2),
	('00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000003', 'api', '', false, 'english', '["code"]', NULL, '{}', '2026-11-23 17:06:08.237184+00', '2026-11-23 17:06:08.734465+00', 1795453568734465, 3);

INSERT INTO public.datastore_search_tableversion VALUES
	(1, 'file', 'simple', '["filters", "words", "numbers", "dates", "texts"]', 30, '{}', '{"fields": {"at": {"max": "2023-06-11T05:30:00.000", "min": "2000-07-11T06:30:00.000", "count": 30, "nulls": 0, "distinct": 30, "histogram": {"bounds": ["2000-01-01T00:00:00.000", "2002-01-01T00:00:00.000", "2004-01-01T00:00:00.000", "2006-01-01T00:00:00.000", "2008-01-01T00:00:00.000", "2010-01-01T00:00:00.000", "2012-01-01T00:00:00.000", "2014-01-01T00:00:00.000", "2016-01-01T00:00:00.000", "2018-01-01T00:00:00.000", "2020-01-01T00:00:00.000", "2022-01-01T00:00:00.000", "2024-01-01T00:00:00.000"], "counts": [3, 4, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2]}}, "code": {"count": 30, "empty": 0, "nulls": 0, "longest": 3, "distinct": 30, "shortest": 3}, "kind": {"top": [{"count": 20, "value": "river"}, {"count": 10, "value": "lake"}], "count": 30, "empty": 0, "nulls": 0, "longest": 5, "distinct": 2, "shortest": 4}, "name": {"count": 30, "empty": 0, "nulls": 0, "longest": 16, "distinct": 30, "shortest": 11}, "level": {"max": 3.75, "min": 0.125, "mean": 1.9375, "count": 30, "nulls": 0, "distinct": 30, "histogram": {"bounds": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8], "counts": [1, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 2]}}, "since": {"max": "2023-06-11", "min": "2000-07-11", "count": 30, "nulls": 0, "distinct": 30, "histogram": {"bounds": ["2000-01-01", "2002-01-01", "2004-01-01", "2006-01-01", "2008-01-01", "2010-01-01", "2012-01-01", "2014-01-01", "2016-01-01", "2018-01-01", "2020-01-01", "2022-01-01", "2024-01-01"], "counts": [3, 4, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2]}}}, "records": 30, "created_at": "2026-11-23T17:05:59.547207+00:00", "fingerprint": "541cf9013f0e82c0dd686ee3a995959d4cde5d4de3fae9bbd11f6be16cf44b7e"}', '541cf9013f0e82c0dd686ee3a995959d4cde5d4de3fae9bbd11f6be16cf44b7e', '{"at": "timestamp", "code": "text", "kind": "text", "name": "text", "level": "numeric", "since": "date"}', '2026-11-23 17:05:59.676803+00', '2026-11-23 17:05:59.93503+00', 1, '00000000-0000-0000-0000-000000000001'),
	(2, 'file', 'english', '["filters", "words", "numbers", "dates", "texts"]', 3, '{}', '{"fields": {"a": {"max": 2, "min": 1, "mean": 1.5, "count": 2, "nulls": 0, "distinct": 2, "histogram": {"bounds": [1, 2, 3], "counts": [1, 1]}}, "b": {"count": 2, "empty": 0, "nulls": 0, "longest": 1, "distinct": 2, "shortest": 1}}, "records": 2, "created_at": "2026-11-23T17:06:02.301551+00:00", "fingerprint": "c1d8902dc0820e18cff1f45d02efadb209c28d4225077d9db4436d155023a750"}', 'b364c7bea95360298e9e61194f777947a2fabbd93221654be9aa3dd0a7a85ad5', '{"a": "int4", "b": "text", "a,a": "int4"}', '2026-11-23 17:06:02.374075+00', '2026-11-23 17:06:02.612056+00', 2, '00000000-0000-0000-0000-000000000002'),
	(3, 'api', 'english', '["filters", "words", "numbers", "dates", "texts"]', 2, '{}', '{}', '', '{}', '2026-11-23 17:06:08.281351+00', '2026-11-23 17:06:08.275982+00', NULL, '00000000-0000-0000-0000-000000000003');

SELECT pg_catalog.setval('public.datastore_search_alias_id_seq', 2, true);

SELECT pg_catalog.setval('public.datastore_search_field_id_seq', 12, true);

SELECT pg_catalog.setval('public.datastore_search_load_id_seq', 3, true);

SELECT pg_catalog.setval('public.datastore_search_record_1__id_seq', 31, false);

SELECT pg_catalog.setval('public.datastore_search_record_2__id_seq', 3, true);

SELECT pg_catalog.setval('public.datastore_search_record_3__id_seq', 3, true);

SELECT pg_catalog.setval('public.datastore_search_rowerror_id_seq', 1, false);

SELECT pg_catalog.setval('public.datastore_search_tableversion_id_seq', 3, true);

ALTER TABLE ONLY public.datastore_search_alias
    ADD CONSTRAINT datastore_search_alias_name_key UNIQUE (name);

ALTER TABLE ONLY public.datastore_search_alias
    ADD CONSTRAINT datastore_search_alias_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.datastore_search_field
    ADD CONSTRAINT datastore_search_field_name UNIQUE (resource_id, name);

ALTER TABLE ONLY public.datastore_search_field
    ADD CONSTRAINT datastore_search_field_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.datastore_search_load
    ADD CONSTRAINT datastore_search_load_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.datastore_search_record_1
    ADD CONSTRAINT datastore_search_record_1_pkey PRIMARY KEY (_id);

ALTER TABLE ONLY public.datastore_search_record_2
    ADD CONSTRAINT datastore_search_record_2_pkey PRIMARY KEY (_id);

ALTER TABLE ONLY public.datastore_search_record_3
    ADD CONSTRAINT datastore_search_record_3_pkey PRIMARY KEY (_id);

ALTER TABLE ONLY public.datastore_search_resource
    ADD CONSTRAINT datastore_search_resource_name_key UNIQUE (name);

ALTER TABLE ONLY public.datastore_search_resource
    ADD CONSTRAINT datastore_search_resource_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.datastore_search_resource
    ADD CONSTRAINT datastore_search_resource_table_version_id_key UNIQUE (table_version_id);

ALTER TABLE ONLY public.datastore_search_rowerror
    ADD CONSTRAINT datastore_search_rowerror_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.datastore_search_tableversion
    ADD CONSTRAINT datastore_search_tableversion_pkey PRIMARY KEY (id);

CREATE INDEX datastore_search_alias_name_6fbb3ff3_like ON public.datastore_search_alias USING btree (name varchar_pattern_ops);

CREATE INDEX datastore_search_alias_resource_id_d945e462 ON public.datastore_search_alias USING btree (resource_id);

CREATE INDEX datastore_search_field_resource_id_5278de99 ON public.datastore_search_field USING btree (resource_id);

CREATE INDEX datastore_search_load_resource_id_862d191c ON public.datastore_search_load USING btree (resource_id);

CREATE INDEX datastore_search_record_1_data_idx ON public.datastore_search_record_1 USING gin (data jsonb_path_ops);

CREATE UNIQUE INDEX datastore_search_record_1_key ON public.datastore_search_record_1 USING btree (NULLIF((data -> 'code'::text), 'null'::jsonb));

CREATE INDEX datastore_search_record_1_search_idx ON public.datastore_search_record_1 USING gin (search);

CREATE INDEX datastore_search_record_2_data_idx ON public.datastore_search_record_2 USING gin (data jsonb_path_ops);

CREATE INDEX datastore_search_record_2_search_idx ON public.datastore_search_record_2 USING gin (search);

CREATE INDEX datastore_search_record_3_data_idx ON public.datastore_search_record_3 USING gin (data jsonb_path_ops);

CREATE UNIQUE INDEX datastore_search_record_3_key ON public.datastore_search_record_3 USING btree (NULLIF((data -> 'code'::text), 'null'::jsonb));

CREATE INDEX datastore_search_record_3_search_idx ON public.datastore_search_record_3 USING gin (search);

CREATE INDEX datastore_search_resource_name_d0c38743_like ON public.datastore_search_resource USING btree (name varchar_pattern_ops);

CREATE INDEX datastore_search_rowerror_load_id_72fa216b ON public.datastore_search_rowerror USING btree (load_id);

CREATE INDEX datastore_search_tableversion_load_id_a7c92e9f ON public.datastore_search_tableversion USING btree (load_id);

CREATE INDEX datastore_search_tableversion_resource_id_34582406 ON public.datastore_search_tableversion USING btree (resource_id);

CREATE TRIGGER datastore_search_deleted AFTER DELETE ON public.datastore_search_alias REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.datastore_search_touch_resource();

CREATE TRIGGER datastore_search_deleted AFTER DELETE ON public.datastore_search_field REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.datastore_search_touch_resource();

CREATE TRIGGER datastore_search_inserted AFTER INSERT ON public.datastore_search_alias REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.datastore_search_touch_resource();

CREATE TRIGGER datastore_search_inserted AFTER INSERT ON public.datastore_search_field REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.datastore_search_touch_resource();

CREATE TRIGGER datastore_search_updated AFTER UPDATE ON public.datastore_search_alias REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.datastore_search_touch_both_resources();

CREATE TRIGGER datastore_search_updated AFTER UPDATE ON public.datastore_search_field REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.datastore_search_touch_both_resources();

CREATE TRIGGER datastore_search_version BEFORE INSERT OR UPDATE ON public.datastore_search_resource FOR EACH ROW EXECUTE FUNCTION public.datastore_search_set_version();

ALTER TABLE ONLY public.datastore_search_alias
    ADD CONSTRAINT datastore_search_ali_resource_id_d945e462_fk_datastore FOREIGN KEY (resource_id) REFERENCES public.datastore_search_resource(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.datastore_search_field
    ADD CONSTRAINT datastore_search_fie_resource_id_5278de99_fk_datastore FOREIGN KEY (resource_id) REFERENCES public.datastore_search_resource(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.datastore_search_load
    ADD CONSTRAINT datastore_search_loa_resource_id_862d191c_fk_datastore FOREIGN KEY (resource_id) REFERENCES public.datastore_search_resource(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.datastore_search_resource
    ADD CONSTRAINT datastore_search_res_table_version_id_d22cb89e_fk_datastore FOREIGN KEY (table_version_id) REFERENCES public.datastore_search_tableversion(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.datastore_search_rowerror
    ADD CONSTRAINT datastore_search_row_load_id_72fa216b_fk_datastore FOREIGN KEY (load_id) REFERENCES public.datastore_search_load(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.datastore_search_tableversion
    ADD CONSTRAINT datastore_search_tab_load_id_a7c92e9f_fk_datastore FOREIGN KEY (load_id) REFERENCES public.datastore_search_load(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.datastore_search_tableversion
    ADD CONSTRAINT datastore_search_tab_resource_id_34582406_fk_datastore FOREIGN KEY (resource_id) REFERENCES public.datastore_search_resource(id) DEFERRABLE INITIALLY DEFERRED;

