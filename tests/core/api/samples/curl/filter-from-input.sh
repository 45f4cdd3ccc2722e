curl https://portal.example/api/action/datastore_search \
  -H"Authorization:API_TOKEN" -d @- <<END
{
  "resource_id": "RESOURCE_ID",
  "filters": {
    "subject": ["watershed", "survey"],
    "stage": "active"
  }
}
END
