curl https://portal.example/api/action/datastore_search_sql \
  -H"Authorization:API_TOKEN" -d @- <<END
{
  "sql": "SELECT * FROM \"RESOURCE_ID\" WHERE title LIKE 'jones'"
}
END
