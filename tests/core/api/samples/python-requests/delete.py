import json

import requests

answer = requests.post(
    "https://portal.example/api/3/action/datastore_records_delete",
    json={
        "resource_id": "RESOURCE_ID",
        "filters": {"code": "003"},
    },
    headers={"Authorization": "API_TOKEN"},
    timeout=60,
)
print(json.dumps(answer.json()))
