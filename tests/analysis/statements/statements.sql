-- Statements over two tables "T" and u with the same rows; those with a mark are refused, though PostgreSQL
-- answers them.
SELECT COUNT(*) OVER () AS _count, * FROM "T" WHERE "at" >= '2020-01-01T00:00:00Z' ORDER BY "_id" ASC LIMIT 20000
SELECT name, "Name" FROM "T" WHERE "Name" LIKE 'x' AND price > 0 LIMIT 100
SELECT * FROM "T" WHERE name IN ('Anna','Bob') ORDER BY name, _id
SELECT round(avg(n)) FROM "T" WHERE name = 'Bob' AND n > 1
SELECT DISTINCT("Name") from "T"
SELECT SUM("n") FROM "T" WHERE to_char("at", 'YYYY-MM-DD') = '2020-01-31' and t between '08:00' and '09:00'
SELECT _id FROM (SELECT *, (6371000*acos(cos(radians(f))*cos(radians(0.5)))) AS distance FROM "T" WHERE f >= 0 AND f < 2) AS d WHERE distance < 500000000 ORDER BY distance LIMIT 20
SELECT COUNT(*) AS total, COUNT("n"), COUNT(DISTINCT "n"), SUM("price") AS s FROM "T"
SELECT * from "T" WHERE at=(SELECT MAX(at) from "T")
SELECT "Name" AS k, COUNT(*) AS n FROM "T" GROUP BY k ORDER BY n DESC, k LIMIT 20
SELECT * FROM "T" WHERE at <= '2020-05-01T23:59:59' AND (tz >= '2020-01-01' OR (tz IS NULL AND at >= '2024-05-01'))
SELECT"name", "n" FROM "T"
SELECT * FROM "T" WHERE LOWER("name") LIKE LOWER('%AN%') OR LOWER("Name") LIKE LOWER('%x%') LIMIT 100
SELECT * FROM "T" OFFSET 0
SELECT * FROM (SELECT * FROM "T") AS q WHERE 0 = 1
SELECT count(*) FROM (SELECT name FROM "T" GROUP BY name) q01
SELECT corr(n, f), covar_samp(n, f), stddev_samp(n), var_samp(n), bool_and(ok), bool_or(ok), string_agg(name, ',' ORDER BY _id) FROM "T"
SELECT max(n), min(n), sum(n), avg(n), count(n) FROM "T"
SELECT name, n FROM "T" ORDER BY n DESC, _id
SELECT name, n FROM "T" ORDER BY n, _id
SELECT name, n FROM "T" ORDER BY n DESC NULLS LAST, _id
SELECT n / 2, n % 2, n * 2.5, -n FROM "T" ORDER BY _id
SELECT 7/2, -7/2, 7.0/2, 1/3.0
SELECT n / 0 FROM "T"
SELECT price / 3 FROM "T" ORDER BY _id
SELECT price::int, f::int, n::float8, n::text, price::text FROM "T" ORDER BY _id
SELECT f::text FROM "T"
SELECT ok::text FROM "T"
SELECT d::text, at::text FROM "T" ORDER BY _id
SELECT CAST(n AS numeric) / 2 FROM "T" ORDER BY _id
SELECT round(f), round(price), round(price, 1), round(n) FROM "T" ORDER BY _id
SELECT round(f, 1) FROM "T"
SELECT round(f::numeric, 1) FROM "T" ORDER BY _id
SELECT ceil(f), floor(f), ceil(price), abs(n), sign(f), trunc(price) FROM "T" ORDER BY _id
SELECT sqrt(big), power(n, 2), exp(f), ln(big + 1) FROM "T" WHERE big >= 0 ORDER BY _id
SELECT upper(name), length(name), char_length(name) FROM "T" ORDER BY _id
SELECT substring(name from 2 for 3), substring(name, 2), substr(name, 1, 2), left(name, 2), right(name, 2) FROM "T" ORDER BY _id
SELECT left(name, -1), right(name, -1) FROM "T" ORDER BY _id
SELECT substr(name, -1, 3) FROM "T" ORDER BY _id
SELECT trim(name), ltrim(name, 'A'), rtrim(name, 'a'), btrim(name, 'a') FROM "T" ORDER BY _id
SELECT replace(name, 'n', 'NN'), reverse(name), strpos(name, 'n'), position('o' in name) FROM "T" ORDER BY _id
SELECT split_part(name, 'n', 1), split_part(name, 'n', 2), starts_with(name, 'A') FROM "T" ORDER BY _id
SELECT name || '-' || "Name" FROM "T" ORDER BY _id
SELECT name || n FROM "T" ORDER BY _id
SELECT concat(name, '-', "Name", n) FROM "T" ORDER BY _id
SELECT concat_ws(',', name, "Name") FROM "T" ORDER BY _id
SELECT repeat(name, 2) FROM "T" -- refused
SELECT lpad(name, 10) FROM "T" -- refused
SELECT initcap(name) FROM "T" -- refused
SELECT md5(name) FROM "T" ORDER BY _id
SELECT ascii(name) FROM "T" ORDER BY _id -- refused
SELECT chr(65) -- refused
SELECT * FROM "T" WHERE name LIKE '100\%%'
SELECT * FROM "T" WHERE name LIKE '%\_a%'
SELECT * FROM "T" WHERE name LIKE '100!%%' ESCAPE '!'
SELECT * FROM "T" WHERE name ILIKE 'AN%'
SELECT * FROM "T" WHERE name ILIKE 'ü%'
SELECT * FROM "T" WHERE name NOT LIKE 'A%' ORDER BY _id
SELECT * FROM "T" WHERE name ~ '^A' ORDER BY _id
SELECT * FROM "T" WHERE name ~* '^a' ORDER BY _id
SELECT * FROM "T" WHERE name !~ '^A' ORDER BY _id
SELECT * FROM "T" WHERE name ~ '\w\d'
SELECT * FROM "T" WHERE name ~ '(a)\1' -- refused
SELECT * FROM "T" WHERE name SIMILAR TO '(A|B)%' -- refused
SELECT extract(year from d), extract(month from d), extract(day from d), extract(dow from d), extract(doy from d) FROM "T" ORDER BY _id
SELECT extract(isodow from d), extract(week from d), extract(quarter from d), extract(isoyear from d) FROM "T" ORDER BY _id
SELECT extract(hour from at), extract(minute from at), extract(second from at), extract(epoch from at) FROM "T" ORDER BY _id
SELECT date_part('year', d), date_part('hour', at) FROM "T" ORDER BY _id
SELECT date_trunc('month', at), date_trunc('week', at), date_trunc('day', at), date_trunc('year', at), date_trunc('quarter', at) FROM "T" ORDER BY _id
SELECT date_trunc('month', d) FROM "T" ORDER BY _id
SELECT date_trunc('month', tz) FROM "T" ORDER BY _id
SELECT to_char(at, 'YYYY-MM'), to_char(at, 'HH24:MI:SS'), to_char(d, 'DD.MM.YYYY'), to_char(d, 'IYYY-IW') FROM "T" ORDER BY _id
SELECT to_char(d, 'Month') FROM "T" -- refused
SELECT to_char(at, 'SSSS') FROM "T" -- refused
SELECT to_char(at, 'yyyy iddd') FROM "T" -- refused
SELECT to_char(d, 'FMMonth FMDD, YYYY') FROM "T" ORDER BY _id
SELECT to_char(price, '999.99') FROM "T" -- refused
SELECT to_char(d, 'Mon'), to_char(d, 'Dy'), to_char(d, 'Q') FROM "T" ORDER BY _id -- refused
SELECT d + 1, d - 1, d - d FROM "T" ORDER BY _id
SELECT d + interval '1 month', at - interval '1 day', at + interval '2 hours' FROM "T" ORDER BY _id
SELECT at - at FROM "T" ORDER BY _id -- refused
SELECT age(at, at) FROM "T" -- refused
SELECT * FROM "T" WHERE d > '2020-01-31' ORDER BY _id
SELECT * FROM "T" WHERE d = '20200131' ORDER BY _id -- refused
SELECT * FROM "T" WHERE d BETWEEN '2020-01-01' AND '2020-12-31' ORDER BY _id
SELECT * FROM "T" WHERE d > date '2020-01-31' ORDER BY _id
SELECT * FROM "T" WHERE at > timestamp '2020-01-31 10:00' ORDER BY _id
SELECT * FROM "T" WHERE d > '2020-01-31'::date ORDER BY _id
SELECT * FROM "T" WHERE d < 'now' -- refused
SELECT * FROM "T" WHERE d < 'nonsense'
SELECT * FROM "T" WHERE ok ORDER BY _id
SELECT * FROM "T" WHERE NOT ok ORDER BY _id
SELECT * FROM "T" WHERE ok IS NOT TRUE ORDER BY _id
SELECT * FROM "T" WHERE ok = 'true' ORDER BY _id
SELECT * FROM "T" WHERE ok = true ORDER BY _id
SELECT * FROM "T" WHERE n IS NULL
SELECT * FROM "T" WHERE n IS DISTINCT FROM 1 ORDER BY _id
SELECT * FROM "T" WHERE n IS NOT DISTINCT FROM NULL ORDER BY _id
SELECT * FROM "T" WHERE name = 5
SELECT * FROM "T" WHERE n = '5'
SELECT * FROM "T" WHERE n = 'x'
SELECT * FROM "T" WHERE name > 'B' ORDER BY _id
SELECT name FROM "T" ORDER BY name COLLATE "C", _id
SELECT * FROM "T" WHERE n IN (1, 2, NULL) ORDER BY _id
SELECT * FROM "T" WHERE n NOT IN (1, 2) ORDER BY _id
SELECT * FROM "T" WHERE n IN (SELECT n FROM u WHERE n > 1) ORDER BY _id
SELECT * FROM "T" WHERE EXISTS (SELECT 1 FROM u WHERE u.n = "T".n AND u.n > 1) ORDER BY _id
SELECT * FROM "T" WHERE n > ALL (SELECT n FROM u WHERE n < 0)
SELECT * FROM "T" WHERE n = ANY (SELECT n FROM u WHERE n < 3) ORDER BY _id
SELECT "T"._id, u._id FROM "T" JOIN u ON "T".n = u.n ORDER BY 1, 2
SELECT a._id, b._id FROM "T" a LEFT JOIN u b ON a.n = b.n + 1 ORDER BY 1, 2
SELECT a._id, b.name FROM "T" a, u b WHERE a._id = b._id ORDER BY 1
SELECT count(*) FROM "T" a CROSS JOIN u b
SELECT count(*) FROM "T" a NATURAL JOIN u b -- refused
SELECT count(*) FROM "T" a JOIN u b USING (_id)
SELECT * FROM "T" a FULL JOIN u b ON a._id = b._id + 5 ORDER BY 1, 13
SELECT name, count(*) FROM "T" GROUP BY name HAVING count(*) > 1
SELECT name, count(*) FROM "T" GROUP BY 1 ORDER BY 2 DESC, 1
SELECT upper(name), count(*) FROM "T" GROUP BY upper(name) ORDER BY 1
SELECT name, sum(n) FROM "T"
SELECT date_trunc('month', at) AS m, count(*) FROM "T" GROUP BY m ORDER BY m
SELECT case when n > 1 then 'many' when n = 1 then 'one' else 'none' end, count(*) FROM "T" GROUP BY 1 ORDER BY 1
SELECT case n when 1 then 'a' else 'b' end FROM "T" ORDER BY _id
SELECT coalesce(n, 0), nullif(n, 1), greatest(n, 2), least(n, 2) FROM "T" ORDER BY _id
SELECT count(*) FILTER (WHERE ok), sum(n) FILTER (WHERE n > 0) FROM "T"
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM "T"
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY price) FROM "T"
SELECT mode() WITHIN GROUP (ORDER BY name) FROM "T"
SELECT array_agg(n ORDER BY _id) FROM "T"
SELECT array_agg(price ORDER BY _id), array_agg(DISTINCT price * 2) FROM "T"
SELECT nullif(n, 1.5) / 2, nullif(7, _id), nullif('7', n), nullif(n, big), 7.0 / nullif(n, 0.0), nullif(d, at), nullif(n, f), nullif(price, f) FROM "T" ORDER BY _id
SELECT string_agg(DISTINCT "Name", ',') FROM "T"
SELECT string_agg(name, '; ') FROM (SELECT name FROM "T" WHERE _id = 1) AS x
SELECT row_number() OVER (ORDER BY _id), rank() OVER (ORDER BY name), dense_rank() OVER (ORDER BY name) FROM "T" ORDER BY _id
SELECT _id, lag(n) OVER (ORDER BY _id), lead(n, 2) OVER (ORDER BY _id), first_value(n) OVER (ORDER BY _id), last_value(n) OVER (ORDER BY _id) FROM "T" ORDER BY _id
SELECT _id, sum(n) OVER (PARTITION BY name ORDER BY _id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM "T" ORDER BY _id
SELECT _id, ntile(3) OVER (ORDER BY _id), percent_rank() OVER (ORDER BY _id), cume_dist() OVER (ORDER BY _id) FROM "T" ORDER BY _id
SELECT sum(n) OVER w FROM "T" WINDOW w AS (PARTITION BY name)
WITH w AS (SELECT name, count(*) AS c FROM "T" GROUP BY name) SELECT * FROM w WHERE c > 1
WITH w AS (SELECT * FROM "T"), v AS (SELECT * FROM w WHERE n > 1) SELECT count(*) FROM v
WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT * FROM r -- refused
SELECT name FROM "T" UNION SELECT name FROM u ORDER BY name
SELECT n FROM "T" UNION ALL SELECT n FROM u ORDER BY n
SELECT n FROM "T" INTERSECT SELECT n FROM u WHERE n > 1 ORDER BY n
SELECT n FROM "T" EXCEPT SELECT n FROM u WHERE n > 1 ORDER BY n
SELECT * FROM "T" FETCH FIRST 2 ROWS ONLY
SELECT * FROM "T" ORDER BY _id LIMIT 2 OFFSET 1
SELECT * FROM "T" ORDER BY _id LIMIT ALL
SELECT DISTINCT ON (name) name, _id FROM "T" ORDER BY name, _id
SELECT DISTINCT name, n FROM "T" ORDER BY name, n
SELECT NAME, Name, "Name" FROM "T" ORDER BY _id
SELECT t1.NAME AS "X y", n AS Zz FROM "T" AS t1 ORDER BY _id
SELECT 'a''b', E'a\nb', 1.5, 1e3, true, null
SELECT now() > '2020-01-01'
SELECT current_date > '2020-01-01'
SELECT pg_sleep(1) -- refused
SELECT version() -- refused
SELECT current_user -- refused
SELECT * FROM pg_class -- refused
SELECT * FROM information_schema.tables -- refused
SELECT * FROM "T" FOR UPDATE -- refused
SELECT * INTO x FROM "T"
SELECT * FROM "T" TABLESAMPLE BERNOULLI (10) -- refused
SELECT generate_series(1, 3) -- refused
SELECT * FROM generate_series(1, 3) g -- refused
SELECT unnest(ARRAY[1,2]) -- refused
VALUES (1), (2) -- refused
TABLE "T"
SELECT "T" FROM "T" -- refused
SELECT count("T") FROM "T" -- refused
SELECT (SELECT count(*) FROM u) AS c, _id FROM "T" ORDER BY _id
SELECT width_bucket(f, 0, 3, 3) FROM "T" ORDER BY _id -- refused
SELECT atan2(f, 1), sin(f), cos(f), tan(f), degrees(f), pi() FROM "T" ORDER BY _id
SELECT n & 1, n | 1, n # 1, ~n, n << 1 FROM "T" ORDER BY _id -- refused
SELECT log(100), log(2, 8)
SELECT GREATEST(n, big) FROM "T" ORDER BY _id
SELECT avg(price), stddev(price), variance(price) FROM "T"
SELECT sum(price * n), avg(f), sum(f) FROM "T"
SELECT min(name), max(name), min(d), max(at) FROM "T"
SELECT count(DISTINCT (name, n)) FROM "T"
SELECT count(*) AS "count(*)" FROM "T"
SELECT bool_and(n > 0), every(n > -100) FROM "T"
SELECT * FROM "T" a JOIN u b USING (_id) ORDER BY _id
SELECT * FROM "T" a LEFT JOIN u b USING (n) ORDER BY a._id, b._id -- refused
SELECT a.*, b.name AS other FROM "T" AS a INNER JOIN u AS b ON a._id = b._id + 1 ORDER BY a._id
SELECT name::int FROM "T" WHERE _id < 0
SELECT '12'::int + 1, ' 7 '::int, '1.5'::numeric, '2020-02-30'::text
SELECT '1.5'::int
SELECT '2020-02-30'::date
SELECT (n::text)::int, (price::text)::numeric, (d::text)::date, (at::text)::timestamp FROM "T" ORDER BY _id
SELECT left(name, 1)::int FROM "T"
SELECT (f::text)::float8, f::text || 'x', d || '', at || ' ' FROM "T" ORDER BY _id
SELECT f::numeric, round(f::numeric, 1), f::numeric(10,1), n::numeric(10,2), price::numeric(10,1) FROM "T" ORDER BY _id
SELECT round(avg(n), 2), round(avg(price), 3), avg(n)::int, avg(big) / 3, round(stddev(n), 4) FROM "T"
SELECT round(sum(price) / count(*), 2), round(100.0 * sum(n) / sum(big), 3), sum(n)::float / count(*) FROM "T"
SELECT sum(n) / count(*), sum(big) / count(*), count(*) / 2, 100 * count(*) / 3 FROM "T"
SELECT avg(price) * avg(n), sum(price) * 1.5, avg(n) + 1, avg(n) - avg(price) FROM "T"
SELECT 1.005 / 1, round(2.675, 2), round(1.005 * 100), round(0.5), round(1.5), round(2.5), round(-2.5)
SELECT round(0.5::float8), round(1.5::float8), round(2.5::float8), round(-2.5::float8)
SELECT trunc(2.567, 1), trunc(-2.567, 2), trunc(2.9), trunc(f), trunc(n) FROM "T" ORDER BY _id
SELECT ceil(n), floor(n), sign(n), sign(price), ceil(price), abs(price) FROM "T" ORDER BY _id
SELECT sqrt(price + 4), power(price, 2), ln(price + 5), sqrt(2), sqrt(2.0), power(2, 10), 2 ^ 3 ^ 2, -2 ^ 2 FROM "T" ORDER BY _id
SELECT mod(n, 3), mod(price, 2), price % 0.7 FROM "T" ORDER BY _id
SELECT 5 % 0
SELECT sqrt(-1)
SELECT ln(0)
SELECT acos(2)
SELECT n * 1000000000 FROM "T"
SELECT sum(n * big) FROM "T"
SELECT count(*) FROM "T" WHERE n + 1
SELECT count(*) FROM "T" WHERE name
SELECT count(*) FROM "T" HAVING count(*)
SELECT upper(n) FROM "T"
SELECT n + name FROM "T"
SELECT name + 1 FROM "T"
SELECT n = ok FROM "T"
SELECT coalesce(n, 'x') FROM "T"
SELECT coalesce(name, 5) FROM "T"
SELECT coalesce(name, 'none'), coalesce(n, price, 1), coalesce(d, '2000-01-01') FROM "T" ORDER BY _id
SELECT CASE WHEN n THEN 1 END FROM "T"
SELECT CASE WHEN ok THEN 'yes' WHEN NOT ok THEN 'no' END AS "Answer", CASE name WHEN 'Bob' THEN n END FROM "T" ORDER BY _id
SELECT -n AS n FROM "T" ORDER BY n
SELECT upper(name) AS name, _id FROM "T" ORDER BY name, _id
SELECT n AS a, price AS b FROM "T" ORDER BY b DESC, a
SELECT price FROM "T" ORDER BY price DESC NULLS LAST, _id
SELECT price FROM "T" ORDER BY 1, _id
SELECT DISTINCT price FROM "T" ORDER BY price
SELECT DISTINCT tz FROM "T" ORDER BY tz
SELECT tz FROM "T" UNION SELECT tz FROM u ORDER BY tz
SELECT min(tz), max(tz), count(DISTINCT tz) FROM "T"
SELECT * FROM "T" LIMIT 3
SELECT name FROM "T" LIMIT 2 OFFSET 3
SELECT * FROM (SELECT name, n FROM "T" ORDER BY n DESC NULLS LAST LIMIT 3) AS x ORDER BY name
SELECT x.y FROM (SELECT n AS y FROM "T") x WHERE x.y > 1 ORDER BY 1
SELECT q."Name", q.c FROM (SELECT "Name", count(*) c FROM "T" GROUP BY "Name") q ORDER BY q.c DESC, 1
SELECT extract(year from at)::int AS y, count(*) FROM "T" WHERE at IS NOT NULL GROUP BY y ORDER BY y
SELECT extract(year from d) / 10, extract(epoch from (at - timestamp '2020-01-01')) FROM "T" ORDER BY _id
SELECT at AT TIME ZONE 'UTC', tz AT TIME ZONE 'Asia/Tokyo', (at AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'UTC' FROM "T" ORDER BY _id
SELECT to_timestamp(86400), make_date(2020, 2, 29), date_trunc('day', timestamp '2020-05-06 07:08:09')
SELECT date '2020-01-31' + 30, date '2020-01-31' + interval '1 month', timestamp '2020-01-31' - interval '36 hours'
SELECT * FROM "T" WHERE tz = '2020-01-31T10:00:00Z' OR tz > '2024-01-01 00:00:00+02' ORDER BY _id
SELECT * FROM "T" WHERE at >= '2020-01-31T10:00:00+05:00' AND at < '2020-02-01' ORDER BY _id
SELECT * FROM "T" WHERE d = '2020-01-31T23:00:00' OR d IN ('2020-02-29', '1999-12-31') ORDER BY _id
SELECT * FROM "T" WHERE t BETWEEN '08:00' AND '09:30' ORDER BY _id
SELECT * FROM "T" WHERE n IN ('1', '2') ORDER BY _id
SELECT * FROM "T" WHERE n = '1.0'
SELECT * FROM "T" WHERE price = '1.5' OR f = '2.5' ORDER BY _id
SELECT * FROM "T" WHERE ok = 'yes' OR ok = 'f' ORDER BY _id
SELECT * FROM "T" WHERE n = ANY (ARRAY[1, 2]) ORDER BY _id
SELECT * FROM "T" WHERE name = ANY (ARRAY['Bob', 'Anna']) ORDER BY _id
SELECT * FROM "T" WHERE (n > 1 OR price < 0) AND NOT (name = 'Bob') ORDER BY _id
SELECT * FROM "T" WHERE name LIKE '_nna' AND name NOT ILIKE 'A%a' ORDER BY _id
SELECT * FROM "T" WHERE name NOT LIKE '%\%%' ORDER BY _id
SELECT * FROM "T" WHERE name ~ '^[A-Z][a-z]+$' OR name !~* 'an' ORDER BY _id
SELECT * FROM "T" WHERE name ~ '(?i)an' -- refused
SELECT * FROM "T" WHERE name ~ '[[:alpha:]]' -- refused
SELECT * FROM "T" WHERE "Name" = '' ORDER BY _id
SELECT * FROM "T" WHERE "Name" ISNULL OR "Name" NOTNULL ORDER BY _id
SELECT "t".n FROM "T" "t" WHERE "t"."n" BETWEEN 1 AND 5 ORDER BY "t"."n"
SELECT T.n FROM "T" T ORDER BY T.n, _id
SELECT "NAME" FROM "T"
SELECT nothing FROM "T"
SELECT b.n FROM "T" a
SELECT n FROM "T" a JOIN u b ON a._id = b._id
SELECT n FROM "T" GROUP BY name
SELECT name, n FROM "T" GROUP BY name, n ORDER BY name, n
SELECT name FROM "T" GROUP BY name HAVING max(n) > 1 ORDER BY name
SELECT sum(sum(n)) FROM "T"
SELECT count(*) FROM "T" WHERE count(*) > 1
SELECT rank() FROM "T"
SELECT sum(n) OVER (ORDER BY _id), avg(n) OVER (PARTITION BY name), sum(price) OVER w, count(*) OVER w FROM "T" WINDOW w AS (ORDER BY _id) ORDER BY _id
SELECT name, sum(sum(n)) OVER () FROM "T" GROUP BY name ORDER BY name
SELECT _id, n - lag(n) OVER (ORDER BY _id), lead(name, 1, 'end') OVER (ORDER BY _id) FROM "T" ORDER BY _id
SELECT nth_value(n, 2) OVER (ORDER BY _id), last_value(n) OVER (ORDER BY _id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM "T" ORDER BY _id
SELECT count(DISTINCT n) OVER () FROM "T"
SELECT array_agg(DISTINCT n), string_agg(DISTINCT name, '|'), string_agg(name, ', ' ORDER BY name DESC) FROM "T"
SELECT bool_or(n > 5), count(*) FILTER (WHERE n IS NULL), sum(price) FILTER (WHERE ok) FROM "T"
SELECT corr(n, f), regr_slope(n, f), covar_pop(n, f), stddev_pop(f), var_pop(price) FROM "T"
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n DESC), percentile_disc(0.9) WITHIN GROUP (ORDER BY name) FROM "T"
SELECT mode() WITHIN GROUP (ORDER BY "Name"), mode() WITHIN GROUP (ORDER BY n DESC) FROM "T"
SELECT max(ok) FROM "T"
SELECT (SELECT max(n) FROM u) - n FROM "T" ORDER BY _id
SELECT (SELECT n FROM u) FROM "T"
SELECT _id FROM "T" WHERE n > (SELECT avg(n) FROM u) ORDER BY _id
SELECT _id FROM "T" a WHERE EXISTS (SELECT 1 FROM u WHERE u._id = a._id AND u.n > 1) ORDER BY _id
SELECT _id, (SELECT count(*) FROM u WHERE u.n < a.n) AS below FROM "T" a ORDER BY _id
WITH a AS (SELECT n FROM "T"), b AS (SELECT max(n) AS m FROM a) SELECT a.n, b.m FROM a, b ORDER BY a.n
WITH a(x, y) AS (SELECT name, n FROM "T") SELECT x, sum(y) FROM a GROUP BY x ORDER BY x
SELECT n FROM "T" UNION SELECT 'x'
SELECT n, name FROM "T" UNION SELECT n FROM u
SELECT n FROM "T" UNION ALL (SELECT n FROM u ORDER BY n LIMIT 1) ORDER BY 1 DESC NULLS LAST LIMIT 4
(SELECT n FROM "T" WHERE n > 5) UNION SELECT _id FROM u ORDER BY 1
SELECT lower('ÀÉ'), upper('ß'), length('日本語'), reverse('añb'), octet_length('é'), left('日本語', 2)
SELECT substring(name, 0, 3), substring(name, -1), substring(name from 3), substr(name, 2) FROM "T" ORDER BY _id
SELECT split_part('a-b-c', '-', 2), replace('aaa', 'a', 'b'), trim(both 'x' from 'xxaxx'), ltrim('  a'), concat(1, 'a', null, 2.5), concat_ws('-', 'a', null, 'b')
SELECT md5('a'), strpos('abc', 'c'), position('z' in 'abc'), starts_with('abc', 'ab'), char_length('ab ')
SELECT greatest(1, 2.5, null), least('b', 'a'), nullif(1, 1), nullif('a', 'b')
SELECT $$it's$$, 'a' || 'b' || 'c', 1 + 2 * 3 - 4, (1 + 2) * 3, 10 - 4 - 3, 2 * 7 / 3
SELECT NOT true AND false, true OR false AND false, NOT (1 = 2), 1 <> 2, 1 != 2
SELECT 1 AS a, 2 AS "a b", 3 "c""d", 4 e
SELECT 9223372036854775807, 9223372036854775808, 2147483648, 0.1 + 0.2, 1e2, .5
SELECT 2147483647 + 1
SELECT 1_000 -- refused
SELECT 'a' 'b'
SELECT 1 WHERE false
SELECT null, null::int, null = 1, null IS NULL
SELECT "_full_text" FROM "T"
SELECT * FROM "T" WHERE _full_text @@ to_tsquery('anna')
SELECT current_date - current_date, now() - now() = interval '0 days' -- refused
SELECT to_char(at, 'YYYY-"Q"'), to_char(at, 'HH12:MI AM'), to_char(tz, 'YYYY-MM-DD HH24:MI:SS'), to_char(at, 'DDD ID') FROM "T" WHERE at IS NOT NULL ORDER BY _id
SELECT to_char(at, 'yyyy-mm') FROM "T" ORDER BY _id
SELECT count(*) FROM "T" TABLESAMPLE SYSTEM (10) -- refused
SELECT name FROM "T" ORDER BY lower(name), _id
SELECT name FROM "T" ORDER BY n IS NULL, n, _id
SELECT DISTINCT ON ("Name") "Name", n FROM "T" ORDER BY "Name", n DESC
SELECT n::real FROM "T" -- refused
SELECT name COLLATE "de_DE" FROM "T"
SELECT ok::int, n::bool, 1::bool, true::text, 'x'::varchar(1), 'abc'::varchar(2) FROM "T" WHERE n IS NOT NULL ORDER BY _id
SELECT cast(price as integer), cast(f as bigint), cast(n as smallint) FROM "T" ORDER BY _id
SELECT 70000::smallint
SELECT n AS k, "Name" AS n FROM "T" ORDER BY k, n
SELECT -n AS n, _id FROM "T" ORDER BY n + 0, _id
SELECT n, -n AS m FROM "T" ORDER BY 2, 1
SELECT "T".n, u.n FROM "T" JOIN u ON "T"._id = u._id ORDER BY n
SELECT _id FROM "T" a FULL JOIN u b USING (_id) ORDER BY _id
SELECT DISTINCT ON (name) name, _id FROM "T" ORDER BY _id
SELECT DISTINCT name FROM "T" ORDER BY _id
WITH x AS (SELECT 1 AS a) SELECT (SELECT a FROM x), count(*) FROM u
SELECT (SELECT name FROM u ORDER BY name DESC, _id LIMIT 1), count(*) FROM "T"
SELECT corr(n, f), regr_slope(n, f), regr_r2(n, f) FROM "T" WHERE _id = 1
SELECT reverse(E'e\u0301te')
SELECT ceiling(1.2), 2.5::float::int, (SELECT 1)::int, -2147483648, -9223372036854775808
SELECT lag(n, 1, 0) OVER (ORDER BY _id), lag(big, 1, 0) OVER (ORDER BY _id) FROM "T" ORDER BY _id
SELECT lag(n, 1, 2.5) OVER (ORDER BY _id) FROM "T" -- refused
SELECT nth_value(n, 0) OVER (ORDER BY _id) FROM "T"
SELECT make_date(-1, 1, 1) -- refused
SELECT name::varchar(0) FROM "T"
SELECT t::time(0) FROM "T" -- refused
SELECT name FROM "T" WHERE name ~ '^*'
SELECT name FROM "T" WHERE name ~ 'a{256}'
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n, f) FROM "T"
SELECT mode(n) WITHIN GROUP (ORDER BY n) FROM "T"
SELECT substring('abc')
SELECT split_part('a', 'b')
SELECT mod(5)
SELECT to_char(at) FROM "T"
SELECT round(1.5, 1, 1)
SELECT ceil(1.5, 1)
SELECT length('a', 'b')
SELECT count()
SELECT count(DISTINCT n, name) FROM "T"
SELECT string_agg(name) FROM "T"
SELECT ifnull(n, 0) FROM "T"
SELECT ucase(name) FROM "T"
SELECT group_concat(name) FROM "T"
SELECT n FROM "T" WHERE n == 1
SELECT n FROM "T" WHERE !ok
SELECT n FROM "T" WHERE name REGEXP 'a'
SELECT starts_with(name, 'A'), name ^@ 'A' FROM "T" -- refused
SELECT n, FROM "T"
SELECT n FROM "T" WHERE n IN ()
SELECT n FROM "T" ORDER BY n LIMIT 1 UNION SELECT 5
WITH x(a, b, c) AS (SELECT n, name FROM "T") SELECT * FROM x
SELECT name FROM "T" WHERE name NOT LIKE '100!%%' ESCAPE '!' ORDER BY _id
SELECT name FROM "T" WHERE name <> '!' AND name <> '==' AND name <> 'regexp' ORDER BY _id
SELECT 7%-2
SELECT 7 % -2, n % 2 FROM "T" ORDER BY _id
SELECT 1 = 1 = true
SELECT n FROM "T" WHERE 1 < n < 9
SELECT (1 = 1) = true, 1 + 1 = 2 AND 2 > 1
SELECT n FROM "T" ORDER BY n ASC DESC
