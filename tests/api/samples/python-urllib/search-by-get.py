import urllib.request

address = (
    "https://portal.example/api/3/action/datastore_search?resource_id=RESOURCE_ID&limit=5&q=jones"
)
asked = urllib.request.Request(address, headers={"Authorization": "API_TOKEN"})
with urllib.request.urlopen(asked) as answer:
    print(answer.read().decode())
