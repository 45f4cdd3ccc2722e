curl https://portal.example/api/action/datastore_upsert \
-H"Authorization:API_TOKEN" -d '
{
  "resource_id": "RESOURCE_ID",
  "method": "update",
  "records": [
    {
      "code": "002",
      "stage": "closed"
    }
  ]
}'
