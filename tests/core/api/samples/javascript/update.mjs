const answer = await fetch(`https://portal.example/api/action/datastore_upsert`, {
    method: 'POST',
    headers: {
        'content-type': 'application/json',
        authorization: 'API_TOKEN'
    },
    body: JSON.stringify({
        resource_id: 'RESOURCE_ID',
        method: 'update',
        records: [{
            code: '002',
            stage: 'closed'
        }]
    })
})
console.log(JSON.stringify(await answer.json()))
