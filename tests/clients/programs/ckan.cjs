// npm package ckan 0.2: https://github.com/okfn/ckan.js

const { Client } = require("ckan");

const client = new Client(process.argv[2]);
const act = (name, data) =>
  new Promise((resolve, reject) =>
    client.action(name, data, (error, answer) => (error ? reject(error) : resolve(answer.result))),
  );
const query = (data) =>
  new Promise((resolve, reject) =>
    client.datastoreQuery(data, (error, found) => (error ? reject(error) : resolve(found))),
  );
const listTables = () =>
  new Promise((resolve, reject) =>
    client.datastoreResources((error, answer) => (error ? reject(error) : resolve(answer.result))),
  );

async function main() {
  const [name] = await act("dataset_list", {});
  const dataset = await act("dataset_show", { id: name });
  const [resource] = dataset.resources;
  const tables = await listTables();
  if (!tables.records.some((table) => table.name === resource.id)) throw new Error("no table");
  const found = await query({ resource_id: resource.id, sort: [{ field: "code" }] });
  const few = await query({
    resource_id: resource.id,
    q: "bridge",
    filters: [{ type: "term", field: "code", term: "003" }],
    size: 1,
  });
  if (few.total !== 1) throw new Error("not filtered");
  const file = await (await fetch(resource.url)).text();
  console.log(
    JSON.stringify({
      dataset: name,
      title: dataset.title,
      resource: resource.id,
      format: resource.format,
      fields: found.fields.map((field) => field.id).filter((id) => id !== "_id"),
      total: found.total,
      stations: found.hits.map((record) => record.station),
      file: file.split(/\r?\n/).slice(0, 2),
    }),
  );
}

main();
