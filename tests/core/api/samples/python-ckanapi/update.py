import json

from ckanapi import RemoteCKAN

with RemoteCKAN("https://portal.example/", apikey="API_TOKEN") as portal:
    result = portal.action.datastore_upsert(
        resource_id="RESOURCE_ID",
        method="update",
        records=[
            {
                "code": "002",
                "stage": "closed",
            }
        ],
    )
print(json.dumps(result))
