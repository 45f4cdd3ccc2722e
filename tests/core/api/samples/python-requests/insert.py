import json

import requests

answer = requests.post(
    "https://portal.example/api/3/action/datastore_upsert",
    json={
        "resource_id": "RESOURCE_ID",
        "method": "insert",
        "records": [{"code": "005", "subject": "air", "title": "Độ ẩm & mây = sương"}],
    },
    headers={"Authorization": "API_TOKEN"},
    timeout=60,
)
print(json.dumps(answer.json()))
