import json
import urllib.request

sent = {
    "resource_id": "RESOURCE_ID",
    "filters": {"subject": ["watershed", "survey"], "stage": "active"},
}
asked = urllib.request.Request(
    "https://portal.example/api/3/action/datastore_search",
    headers={"Authorization": "API_TOKEN"},
)
with urllib.request.urlopen(asked, json.dumps(sent).encode()) as answer:
    print(answer.read().decode())
