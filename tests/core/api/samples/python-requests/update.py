import json

import requests

answer = requests.post(
    "https://portal.example/api/3/action/datastore_upsert",
    json={
        "resource_id": "RESOURCE_ID",
        "method": "update",
        "records": [{"code": "002", "stage": "closed"}],
    },
    headers={"Authorization": "API_TOKEN"},
    timeout=60,
)
print(json.dumps(answer.json()))
