import json

from ckanapi import RemoteCKAN

with RemoteCKAN("https://portal.example/", apikey="API_TOKEN") as portal:
    result = portal.action.datastore_search(
        resource_id="RESOURCE_ID",
        filters={
            "subject": ["watershed", "survey"],
            "stage": "active",
        },
    )
print(json.dumps(result))
