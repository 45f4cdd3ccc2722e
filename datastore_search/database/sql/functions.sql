-- Full-text search: the search vector of a record, and the tsquery of a full-text query.
-- One function splits both into words.  It replaces punctuation and mark-up, which PostgreSQL's
-- parser would treat specially, so that records and queries have the same words.
--
-- A restore computes the search vectors of all records with an empty search path.  So
-- datastore_search_vector() calls only built-in functions, or others from an SQL-standard body, which
-- stores its references by OID, as pg_dump and a renamed schema need them (docs/decisions/0003).

-- The letters of a text in the one form in which texts are compared, of records and of queries:
-- compatible forms (full-width, ligatures, presentation forms) become the plain ones, digits those of
-- ASCII.  Spellings that readers hold equal become one.  Marks of other letters stay; a search
-- without them is served by datastore_search_lexemes().
-- Each expression over all letters takes 2 µs for 500 bytes, so one test leaves out the scripts that
-- most texts do not have: Latin has its letters below U+0250 and from U+1E00 to U+1EFF.
CREATE OR REPLACE FUNCTION datastore_search_letters(text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    letters text;
    digit integer;
    zero integer;
BEGIN
    IF octet_length(text) = char_length(text) THEN
        RETURN text;
    END IF;
    letters := text;
    -- A soft hyphen only shows where a line may end.  Apostrophes have several forms.
    IF letters ~ '[\u00ADÆæŒœ\u02BC\u2019]' THEN
        letters := replace(replace(replace(replace(translate(
            letters, U&'\02BC\2019\00AD', ''''''), 'Æ', 'AE'), 'æ', 'ae'), 'Œ', 'OE'), 'œ', 'oe');
    END IF;
    IF letters IS NOT NFKC NORMALIZED THEN
        -- A sign is no part of the word before it, and a small digit none of the number: 10², 5½.
        letters := translate(letters, '™℠№´¨¯¸˘˙˚˛˜˝', '             ');
        letters := regexp_replace(
            letters,
            '([0-9])([²³¹¼-¾\u2070-\u2079\u2080-\u2089\u2150-\u215F\u2189])', '\1 \2', 'g');
        letters := "left"(normalize(letters, NFKC), 100000);
        letters := regexp_replace(letters, ' [\u0300-\u036F\u064B-\u0652\u3099\u309A]+', ' ', 'g');
    END IF;
    -- Vietnamese writes the tone of hoà and thuỷ on either vowel, if these end the word.
    IF letters ~* '[òóỏõọ][ae]|[ùúủũụ]y' THEN
        letters := normalize(regexp_replace(
            normalize(letters, NFD),
            '([oO](?=[\u0300\u0301\u0303\u0309\u0323][aeAE])|[uU](?=[\u0300\u0301\u0303\u0309\u0323][yY]))'
                '([\u0300\u0301\u0303\u0309\u0323])(.)(?![[:alpha:]\u0300-\u036F])',
            '\1\3\2', 'g'), NFC);
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
        -- Hindi often leaves out the dot of a foreign sound, and writes a nasal as a dot: हिन्दी, हिंदी.
        IF letters ~ '[\u0901\u093C\u094D]' THEN
            letters := regexp_replace(
                translate(letters, U&'\0901\093C', U&'\0902'),
                'ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])', U&'\0902', 'g');
        END IF;
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
$function$;

-- The words of a text, separated by blanks.  A run of a script that is written without blanks
-- becomes its overlapping pairs of letters and its last letter: 王小明 becomes 王小 小明 明.  So a
-- letter is found as the beginning of a word, and a longer part by pairs at their distances.  A letter
-- has its marks with it, and letters stacked under it.
-- Pairs of 100,000 letters might be more than a vector holds, so those of 66,000 are made.
-- U+001F on both sides of a run tells datastore_search_tsquery() where it is; a parser reads a blank.
CREATE OR REPLACE FUNCTION datastore_search_split(text text) RETURNS text
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
    -- A Korean particle or noun after a foreign word: LG전자.
    IF words ~ '[A-Za-z][\uAC00-\uD7A3]' THEN
        words := regexp_replace(words, '([A-Za-z])([\uAC00-\uD7A3])', '\1 \2', 'g');
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
$function$;

-- The words of a text, as they are compared.  PostgreSQL inlines this body.
CREATE OR REPLACE FUNCTION datastore_search_words(text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN datastore_search_split(datastore_search_letters(text));

-- All scalar values of a record, as one text; of json fields the keys too.  Empty without values.
-- Each path is asked for one array: PostgreSQL moves all that is left of a set of path results for
-- each of them, so a geometry of 160,000 points took 10 s.
CREATE OR REPLACE FUNCTION datastore_search_values(data jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
BEGIN
    RETURN coalesce((
        SELECT string_agg(
            CASE WHEN jsonb_typeof(field.value) IN ('object', 'array') THEN (
                SELECT string_agg(leaf.value, ' ')
                FROM (
                    SELECT jsonb_array_elements_text(jsonb_path_query_array(
                        field.value,
                        'strict $.** ? (@.type() != "object" && @.type() != "array")')) AS value
                    UNION ALL
                    SELECT jsonb_array_elements_text(jsonb_path_query_array(
                        field.value,
                        'strict $.** ? (@.type() == "object").keyvalue().key'))
                ) AS leaf
            ) ELSE field.value #>> '{}' END, ' ')
        FROM jsonb_each(data) AS field
    ), '');
END
$function$;

-- The search vector of words: as written, without diacritics, and stemmed.
-- Diacritics are U+0300 to U+036F and those of Hebrew and Arabic: đường → duong.  NFC composes Hangul
-- and kana again, which NFD decomposes too.
-- Only the words as written have positions, which a rank counts.  The others are computed from the
-- distinct words, which takes half the time of parsing the text again.  Letters and pairs of scripts
-- without blanks have neither accents nor stems.
CREATE OR REPLACE FUNCTION datastore_search_lexemes(words text, language regconfig)
RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
            replace(replace(normalize(distinct_words, NFD), 'þ', 'th'), 'Þ', 'Th'),
            'đĐłŁøØħĦŧŦıðÐ'
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
            'dDlLoOhHtTidD'), NFC);
        IF folded <> distinct_words THEN
            vector := vector || strip(to_tsvector('pg_catalog.simple', folded));
        END IF;
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

-- Labels the words of a search vector that some fields of the record have, for its rank.
CREATE OR REPLACE FUNCTION datastore_search_label(
    vector tsvector, data jsonb, label text, names text[])
RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN setweight(vector, label::"char", tsvector_to_array(to_tsvector(
    'pg_catalog.simple'::regconfig,
    datastore_search_words("left"(datastore_search_values((
        SELECT coalesce(jsonb_object_agg(key, value), '{}'::jsonb)
        FROM jsonb_each(data)
        WHERE key = ANY (names)
    )), 100000)))));

-- The tsquery, as text, of a run without blanks and the digits that touch it, as
-- datastore_search_split() writes it: digits, and between two U+001F pairs and a last letter.  The
-- pairs must be at their distances; every second one and the last say all.  A vector has no positions
-- after the 16,383th: all later words have that one, so there, the pairs may be anywhere.
CREATE OR REPLACE FUNCTION datastore_search_phrase(run text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
$function$;

-- The tsquery, as text, of a word: it occurs when a word of the record equals it, or begins with it if
-- it is_beginning, or has the same stem.  A stem that begins with the word itself would match nothing
-- more and is omitted.  Of ı the capital is read as the one of i.  A word without marks finds those of its
-- plain letters: đa nang.
CREATE OR REPLACE FUNCTION datastore_search_word(
    lexeme text, language regconfig, is_beginning boolean, has_forms boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    ending CONSTANT text := CASE WHEN is_beginning THEN ':*' ELSE '' END;
    written CONSTANT text := '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''';
    stem tsquery;
    stems text := '';
    folded text := '';
BEGIN
    IF NOT has_forms THEN
        RETURN written;
    END IF;
    IF language <> 'pg_catalog.simple'::regconfig THEN
        stem := plainto_tsquery(language, lexeme);
        IF numnode(stem) > 0 AND NOT (numnode(stem) = 1 AND (
            stem::text = written
            OR (is_beginning AND starts_with(btrim(stem::text, ''''), lexeme))))
        THEN
            stems := ' | (' || stem::text || ')';
        END IF;
    END IF;
    IF strpos(lexeme, 'ı') > 0 THEN
        folded := ' | ' || replace(written, 'ı', 'i') || ending;
        IF lexeme ~ '^[ıi]' THEN
            folded := folded || ' | ' || overlay(
                written PLACING translate("left"(lexeme, 1), 'ıi', 'iı') FROM 2 FOR 1) || ending;
        END IF;
    ELSIF lexeme ~ '[đłøħŧð]' AND lexeme IS NFD NORMALIZED THEN
        folded := ' | ' || translate(written, 'đłøħŧð', 'dlohtd') || ending;
    END IF;
    RETURN '(' || written || ending || stems || folded || ')';
END
$function$;

-- The tsquery, as text, of words that must follow each other: of the parts of a code (192.168.10.1,
-- 2024-03-12), or of a phrase.  Only words as written have positions, so a word that a record has in
-- another form alone may be anywhere; after the 16,383th, all words have one position.  Null unless
-- there are two words.
-- Where a form has no position, that of (word | form) is unknown; so each form has a phrase of its own.
CREATE OR REPLACE FUNCTION datastore_search_sequence(
    words text, language regconfig, has_forms boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    lexemes CONSTANT text[] := (
        SELECT array_agg(lexeme ORDER BY place)
        FROM unnest(to_tsvector('pg_catalog.simple', words)) AS word, unnest(positions) AS place);
    last CONSTANT integer := coalesce(cardinality(lexemes), 0);
    max_phrases CONSTANT integer := 12;
    is_beginning boolean := false;
    written text[];
    forms text[];
    alternatives text[];
    phrases text[] := ARRAY[''];
    others text[];
    stem tsquery;
BEGIN
    IF last < 2 THEN
        RETURN NULL;
    END IF;
    FOR number IN 1 .. last LOOP
        is_beginning := number = last AND has_forms AND (
            char_length(lexemes[last]) >= 3 OR lexemes[last] ~ '^[^\x01-@]{2}$');
        written := written || datastore_search_word(lexemes[number], language, false, false);
        forms := forms || datastore_search_word(lexemes[number], language, is_beginning, has_forms);
        IF lexemes[number] !~ '[^\x01-@]' THEN
            alternatives := ARRAY[written[number] || CASE WHEN is_beginning THEN ':*' ELSE '' END];
        ELSE
            alternatives := ARRAY[written[number]];
            IF is_beginning THEN
                alternatives := alternatives || (written[number] || ':*');
            END IF;
            IF has_forms AND language <> 'pg_catalog.simple'::regconfig THEN
                stem := plainto_tsquery(language, lexemes[number]);
                IF numnode(stem) = 1 AND stem::text <> written[number]
                    AND cardinality(phrases) * (cardinality(alternatives) + 1) <= max_phrases
                THEN
                    alternatives := alternatives || stem::text;
                END IF;
            END IF;
            others := others || (
                SELECT string_agg('!(' || form || ' <0> ' || form || ')', ' & ')
                FROM unnest(alternatives) AS form);
        END IF;
        phrases := ARRAY(
            SELECT phrase || CASE WHEN number > 1 THEN ' <-> ' ELSE '' END || form
            FROM unnest(phrases) AS phrase, unnest(alternatives) AS form);
    END LOOP;
    RETURN '(' || array_to_string(phrases, ' | ')
        || CASE WHEN cardinality(others) > 0
            THEN ' | ' || array_to_string(forms, ' & ') || ' & (' || array_to_string(others, ' | ') || ')'
            ELSE '' END
        || CASE WHEN last = (SELECT count(DISTINCT lexeme) FROM unnest(lexemes) AS lexeme)
            THEN ' | ' || array_to_string(written, ' <0> ') || CASE WHEN is_beginning THEN ':*' ELSE '' END
            ELSE '' END
        || ')';
END
$function$;

-- The tsquery of a full-text query: every word must occur.  A word is also found as the beginning of
-- one, from three letters on (of Hangul from one), and at the end of a query of several words from
-- one.  A term with punctuation inside is a sequence: 192.168.10.1.  Of a run without blanks, the
-- pairs must occur at their distances, with the digits that touch them: 第3章.
-- It is built from lexemes, so that no text can be an operator; and as one text, because
-- joining thousands of tsqueries one by one takes seconds.  Null when there is no word.
-- Without other forms than the words as written if not has_forms.
-- In PL/pgSQL a session plans it once, not with each call: 16 µs instead of 76.
CREATE OR REPLACE FUNCTION datastore_search_tsquery(
    q text, language regconfig, has_forms boolean DEFAULT true)
RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    letters text := datastore_search_letters(q);
    words text := datastore_search_split(letters);
    run CONSTANT text :=
        '(?:(?<![^\u0001-\u002F:-@\u005B-`\u007B-\u007F])[0-9]+)?'
        '(?:\u001F[^\u001F]+\u001F(?:[0-9]+(?=\u001F))?)+'
        '(?:[0-9]+(?![^\u0001-\u002F:-@\u005B-`\u007B-\u007F]))?';
    runs text;
    sequences text;
    has_others boolean;
BEGIN
    -- Persian joins the parts of a word with a non-joiner, a blank, or nothing.
    IF strpos(q, U&'\200C') > 0 AND q ~ '\u200C[\u0620-\u06FF]' THEN
        RETURN datastore_search_tsquery(replace(q, U&'\200C', ' '), language, has_forms)
            || datastore_search_tsquery(replace(q, U&'\200C', ''), language, has_forms);
    END IF;
    IF strpos(words, U&'\001F') > 0 THEN
        runs := (
            SELECT string_agg(DISTINCT datastore_search_phrase(parts[1]), ' & ')
            FROM regexp_matches(words, run, 'g') AS parts);
        words := regexp_replace(words, run, ' ', 'g');
    ELSIF letters ~ '[^\s!-/:-@\u005B-`\u007B-~][!-/:-@\u005B-`\u007B-~]+[^\s!-/:-@\u005B-`\u007B-~]' THEN
        SELECT string_agg(DISTINCT sequence, ' & '),
            coalesce(string_agg(split, ' ' ORDER BY number) FILTER (WHERE sequence IS NULL), '')
            INTO sequences, words
            FROM (
                SELECT number, split, datastore_search_sequence(split, language, has_forms) AS sequence
                FROM regexp_split_to_table(letters, '\s+') WITH ORDINALITY AS terms (term, number),
                    datastore_search_split(term) AS split
            ) AS terms;
    END IF;
    has_others := coalesce(runs, sequences) IS NOT NULL;
    RETURN nullif(concat_ws(' & ', runs, sequences, (
        SELECT string_agg(
            datastore_search_word(
                lexeme, language,
                char_length(lexeme) >= 3 OR lexeme ~ '^[\uAC00-\uD7A3]'
                    OR (place = max_place AND (has_others OR words_count > 1)),
                has_forms),
            ' & ')
        FROM (
            SELECT lexeme, positions[array_length(positions, 1)] AS place,
                max(positions[array_length(positions, 1)]) OVER () AS max_place,
                count(*) OVER () AS words_count
            FROM unnest(to_tsvector('pg_catalog.simple', words))
        ) AS word
    )), '')::tsquery;
END
$function$;

-- The tsquery of a full-text query in PostgreSQL's query language.  A plain form that is an operator
-- or a blank is not made: ＆ separates words, as a quotation mark does.  A term with punctuation inside
-- is a phrase of its parts, as records are split.  A phrase is looked up as written too, as only these
-- words have positions.
CREATE OR REPLACE FUNCTION datastore_search_parsed_tsquery(q text, language regconfig)
RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
    letters text := datastore_search_letters(regexp_replace(
        normalize(q, NFC),
        '[\u00A0\u00A8\u00AF\u00B4\u00B8\u02D8-\u02DD\u037A\u037E\u0384\u0385\u1FBD\u1FBF-\u1FC1'
            '\u1FCD-\u1FCF\u1FDD-\u1FDF\u1FED-\u1FEF\u1FFD\u1FFE\u2017\u2024-\u2026\u202F\u203C-\u205F'
            '\u207A-\u207E\u208A-\u208E\u2100-\u2106\u2474-\u24B5\u2A74-\u2A76\u309B\u309C\u3200-\u3243'
            '\u33C2-\u33D8\uFB29\uFC5E-\uFC63\uFDFA\uFDFB\uFE10-\uFE6B\uFE70-\uFE7E\uFF01-\uFF0F'
            '\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF5E\uFFE3\U0001F100-\U0001F129]',
        '"', 'g'));
    query tsquery;
    lexemes text;
    lexeme text;
    compound CONSTANT text := '[^\s!-/:-@\u005B-^`\u007B-~][-+./@_~]+[^\s!-/:-@\u005B-^`\u007B-~]';
    has_sequence CONSTANT boolean := letters ~ compound;
BEGIN
    IF has_sequence THEN
        letters := (
            SELECT string_agg(
                CASE WHEN parts[1] ~ compound
                    THEN '''' || btrim(replace(replace(datastore_search_split(
                        btrim(parts[1], '''')), U&'\001F', ' '), '''', ' ')) || ''''
                    ELSE parts[1] END, '' ORDER BY number)
            FROM regexp_matches(
                letters, '(''(?:[^'']|'''')*''|[^\s&|!()<>:*''"]+|.)', 'gs'
            ) WITH ORDINALITY AS terms (parts, number));
    END IF;
    query := to_tsquery(language, letters);
    IF has_sequence OR strpos(letters, '<') > 0 THEN
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
$function$;
