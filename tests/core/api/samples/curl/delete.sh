curl https://portal.example/api/action/datastore_records_delete \
-H"Authorization:API_TOKEN" -d '
{
  "resource_id": "RESOURCE_ID",
  "filters": {
    "code": "003"
  }
}'
