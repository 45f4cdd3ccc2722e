const asked = new URLSearchParams({resource_id: 'RESOURCE_ID', limit: 5, q: 'jones'})
const answer = await fetch(`https://portal.example/api/action/datastore_search?${asked}`, {
    headers: {authorization: 'API_TOKEN'}
})
console.log(JSON.stringify(await answer.json()))
