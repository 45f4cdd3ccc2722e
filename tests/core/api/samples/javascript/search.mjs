const answer = await fetch(`https://portal.example/api/action/datastore_search`, {
    method: 'POST',
    headers: {
        'content-type': 'application/json',
        authorization: 'API_TOKEN'
    },
    body: JSON.stringify({
        resource_id: 'RESOURCE_ID',
        limit: 5,
        q: 'jones'
    })
})
console.log(JSON.stringify(await answer.json()))
