import json

import requests

answer = requests.get(
    "https://portal.example/api/3/action/datastore_search",
    params={
        "resource_id": "RESOURCE_ID",
        "filters": json.dumps({"subject": ["watershed", "survey"], "stage": "active"}),
        "include_total": False,
    },
    headers={"Authorization": "API_TOKEN"},
    timeout=60,
)
print(json.dumps(answer.json()))
