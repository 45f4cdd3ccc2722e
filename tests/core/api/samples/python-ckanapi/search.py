import json

from ckanapi import RemoteCKAN

with RemoteCKAN("https://portal.example/", apikey="API_TOKEN") as portal:
    result = portal.action.datastore_search(
        resource_id="RESOURCE_ID",
        limit=5,
        q="jones",
    )
print(json.dumps(result))
