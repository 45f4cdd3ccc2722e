// npm package ckanapi 0.3: https://github.com/DataShades/ckanapi-ts

const { Portal } = require("ckanapi");

async function main() {
  const { action } = new Portal(process.argv[2]);
  const { results } = await action.package_search({ q: "river" });
  const [{ name }] = results;
  const dataset = await action.package_show({ id: name });
  const [{ id }] = dataset.resources;
  const resource = await action.resource_show({ id });
  const found = await action.datastore_search({ resource_id: id, sort: "code" });
  const file = await (await fetch(resource.url)).text();
  console.log(
    JSON.stringify({
      dataset: name,
      title: dataset.title,
      resource: resource.id,
      format: resource.format,
      fields: found.fields.map((field) => field.id).filter((id) => id !== "_id"),
      total: found.total,
      stations: found.records.map((record) => record.station),
      file: file.split(/\r?\n/).slice(0, 2),
    }),
  );
}

main();
