const answer = await fetch(`https://portal.example/api/action/datastore_records_delete`, {
    method: 'POST',
    headers: {
        'content-type': 'application/json',
        authorization: 'API_TOKEN'
    },
    body: JSON.stringify({
        resource_id: 'RESOURCE_ID',
        filters: {
            code: '003'
        }
    })
})
console.log(JSON.stringify(await answer.json()))
