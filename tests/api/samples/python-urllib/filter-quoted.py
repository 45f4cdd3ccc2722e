import json
import urllib.parse
import urllib.request

sent = {
    "resource_id": "RESOURCE_ID",
    "filters": {"subject": ["watershed", "survey"], "stage": "active"},
}
body = urllib.parse.quote(json.dumps(sent)).encode()
asked = urllib.request.Request(
    "https://portal.example/api/3/action/datastore_search",
    headers={"Authorization": "API_TOKEN"},
)
with urllib.request.urlopen(asked, body) as answer:
    print(answer.read().decode())
