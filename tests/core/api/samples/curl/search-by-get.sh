curl 'https://portal.example/api/action/datastore_search?resource_id=RESOURCE_ID&q=jones' \
  -H"Authorization:API_TOKEN"
