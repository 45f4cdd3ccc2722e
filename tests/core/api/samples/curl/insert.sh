curl https://portal.example/api/action/datastore_upsert \
-H"Authorization:API_TOKEN" -d '
{
  "resource_id": "RESOURCE_ID",
  "method": "insert",
  "records": [
    {
      "code": "005",
      "subject": "air",
      "title": "Độ ẩm & mây = sương"
    }
  ]
}'
