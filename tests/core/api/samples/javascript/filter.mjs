const answer = await fetch(`https://portal.example/api/action/datastore_search`, {
    method: 'POST',
    headers: {
        'content-type': 'application/json',
        authorization: 'API_TOKEN'
    },
    body: JSON.stringify({
        resource_id: 'RESOURCE_ID',
        filters: {
            subject: ['watershed', 'survey'],
            stage: 'active'
        }
    })
})
console.log(JSON.stringify(await answer.json()))
