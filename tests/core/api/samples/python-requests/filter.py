import json

import requests

answer = requests.post(
    "https://portal.example/api/3/action/datastore_search",
    json={
        "resource_id": "RESOURCE_ID",
        "filters": {"subject": ["watershed", "survey"], "stage": "active"},
    },
    headers={"Authorization": "API_TOKEN"},
    timeout=60,
)
print(json.dumps(answer.json()))
