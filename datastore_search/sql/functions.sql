-- Full-text search: the search vector of a record, and the tsquery of a full-text query.
-- One function splits both into words.  It replaces punctuation and mark-up, which PostgreSQL's
-- parser would treat specially, so that records and queries have the same words.
--
-- A restore computes the search vectors of all records with an empty search path.  So
-- datastore_search_vector() calls only built-in functions, or others from an SQL-standard body, which
-- stores its references by OID, as pg_dump and a renamed schema need them (docs/decisions/0003).

-- The words of a text, separated by blanks, in composed form.
CREATE OR REPLACE FUNCTION datastore_search_words(text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
    RETURN normalize(words, NFC);
END
$function$;

-- All scalar values of a record, as one text; of json fields the keys too.  Empty without values.
CREATE OR REPLACE FUNCTION datastore_search_values(data jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
$function$;

-- The search vector of words: as written, without diacritics, and stemmed.
-- Diacritics are U+0300 to U+036F and those of Hebrew and Arabic: đường → duong.  NFC composes Hangul
-- and kana again, which NFD decomposes too.
-- Only the words as written have positions, which a rank counts.  The others are computed from the
-- distinct words, which takes half the time of parsing the text again.
CREATE OR REPLACE FUNCTION datastore_search_lexemes(words text, language regconfig)
RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    written tsvector := to_tsvector('pg_catalog.simple', words);
    distinct_words text := array_to_string(tsvector_to_array(written), ' ');
    folded text;
    vector tsvector := written;
BEGIN
    IF octet_length(distinct_words) <> char_length(distinct_words) THEN
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
        vector := vector || strip(to_tsvector('pg_catalog.simple', folded));
    END IF;
    IF language <> 'pg_catalog.simple'::regconfig THEN
        vector := vector || strip(to_tsvector(language, distinct_words));
    END IF;
    RETURN vector;
END
$function$;

-- The search vector of a record.  Its limit is 1 MB, so only the first 100,000 letters are indexed.
-- PostgreSQL inlines this body, so the call costs nothing.
CREATE OR REPLACE FUNCTION datastore_search_vector(data jsonb, language regconfig)
RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN datastore_search_lexemes(
    datastore_search_words("left"(datastore_search_values(data), 100000)), language);

-- The tsquery of a full-text query: every word must occur.  A word occurs when a word of the
-- record begins with it (from three letters on; a shorter one must be equal), or has the same
-- stem.  It is built from lexemes, so that no text can be an operator; and as one text, because
-- joining thousands of tsqueries one by one takes seconds.  A stem that begins with the word itself
-- would match nothing more and is omitted.  Null when there is no word.
-- In PL/pgSQL a session plans it once, not with each call: 16 µs instead of 76.
CREATE OR REPLACE FUNCTION datastore_search_tsquery(q text, language regconfig)
RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
BEGIN
    RETURN (
        SELECT string_agg(
            '(''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''''
                || CASE WHEN char_length(lexeme) >= 3 THEN ':*' ELSE '' END
                || CASE WHEN numnode(stem) > 0 AND NOT (
                        char_length(lexeme) >= 3 AND numnode(stem) = 1
                        AND starts_with(btrim(stem::text, ''''), lexeme))
                    THEN ' | (' || stem::text || ')' ELSE '' END
                || ')',
            ' & ')::tsquery
        FROM unnest(to_tsvector('pg_catalog.simple', datastore_search_words(q))),
            LATERAL (
                SELECT CASE WHEN language <> 'pg_catalog.simple'::regconfig
                    THEN plainto_tsquery(language, lexeme) END AS stem
            ) AS stemmed
    );
END
$function$;
