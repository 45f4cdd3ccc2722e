import json

from ckanapi import RemoteCKAN

with RemoteCKAN("https://portal.example/", apikey="API_TOKEN") as portal:
    result = portal.action.datastore_upsert(
        resource_id="RESOURCE_ID",
        method="insert",
        records=[
            {
                "code": "005",
                "subject": "air",
                "title": "Độ ẩm & mây = sương",
            }
        ],
    )
print(json.dumps(result))
