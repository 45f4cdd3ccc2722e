curl https://portal.example/api/action/datastore_search \
  -H"Authorization:API_TOKEN" -d '
{
  "resource_id": "RESOURCE_ID",
  "limit": 5,
  "q": "jones"
}'
