// Clients of a schema registry as a servant: one JSON job a line on standard input, one JSON answer a line on standard output.
'use strict';
const readline = require('readline');
const confluent = require('@confluentinc/schemaregistry');
const kafkajs = require('@kafkajs/confluent-schema-registry');
const { createMutableRegistry, createFileRegistry, fromBinary, fromJson } = require('@bufbuild/protobuf');
const { FileDescriptorSetSchema } = require('@bufbuild/protobuf/wkt');

const VALUE = confluent.SerdeType.VALUE;
const clients = new Map();
const client = (url) => {
  if (!clients.has(url)) clients.set(url, new confluent.SchemaRegistryClient({ baseURLs: [url] }));
  return clients.get(url);
};
const SERIALIZERS = { AVRO: confluent.AvroSerializer, JSON: confluent.JsonSerializer };
const DESERIALIZERS = { AVRO: confluent.AvroDeserializer, JSON: confluent.JsonDeserializer, PROTOBUF: confluent.ProtobufDeserializer };
const code = async (promise) => {
  try {
    return { ok: await promise };
  } catch (error) {
    return { code: error.errorCode, status: error.status };
  }
};

const jobs = {
  // Every call of Confluent's client on one subject, with the codes of what is refused.
  async tour(job) {
    const registry = client(job.url);
    const [first, second, wrong] = job.schemas.map((schema) => ({ schema, schemaType: job.type }));
    const said = { id: await registry.register(job.subject, first) };
    said.again = await registry.register(job.subject, first);
    const metadata = await registry.registerFullResponse(job.subject, second);
    said.second = metadata.id;
    said.versions = await registry.getAllVersions(job.subject);
    said.version = await registry.getVersion(job.subject, second);
    said.found = await registry.getId(job.subject, second);
    said.text = (await registry.getBySubjectAndId(job.subject, said.id)).schema;
    const latest = await registry.getLatestSchemaMetadata(job.subject);
    said.latest = latest.version;
    said.guid = latest.guid ? (await registry.getByGuid(latest.guid)).schema : null;
    said.listed = (await registry.getAllSubjects()).includes(job.subject);
    said.compatible = await registry.testSubjectCompatibility(job.subject, second);
    said.incompatible = await registry.testSubjectCompatibility(job.subject, wrong);
    said.refused = await code(new confluent.SchemaRegistryClient({ baseURLs: [job.url] }).register(job.subject, wrong));
    await registry.updateCompatibility(job.subject, 'NONE');
    said.level = await registry.getCompatibility(job.subject);
    said.third = (await code(registry.register(job.subject, wrong))).ok > 0;
    said.deleted = await registry.deleteSubjectVersion(job.subject, 1);
    said.soft = await registry.deleteSubject(job.subject);
    said.hard = await registry.deleteSubject(job.subject, true);
    said.gone = await code(new confluent.SchemaRegistryClient({ baseURLs: [job.url] }).getLatestSchemaMetadata(job.subject));
    return said;
  },
  // Confluent's serializers: the schema is what was registered last, or comes with the message (Protobuf).
  async serialize(job) {
    const registry = new confluent.SchemaRegistryClient({ baseURLs: [job.url] });
    const serializer = new SERIALIZERS[job.type](registry, VALUE, { useLatestVersion: true, autoRegisterSchemas: false });
    return (await serializer.serialize(job.topic, job.value)).toString('base64');
  },
  async serializeProtobuf(job) {
    const files = createFileRegistry(fromBinary(FileDescriptorSetSchema, Buffer.from(job.descriptors, 'base64')));
    const message = files.getMessage(job.message);
    const registry = createMutableRegistry(message);
    const serializer = new confluent.ProtobufSerializer(client(job.url), VALUE, { registry, autoRegisterSchemas: true });
    return (await serializer.serialize(job.topic, fromJson(message, job.value))).toString('base64');
  },
  async deserialize(job) {
    const registry = new confluent.SchemaRegistryClient({ baseURLs: [job.url] });
    const deserializer = new DESERIALIZERS[job.type](registry, VALUE, {});
    const value = await deserializer.deserialize(job.topic, Buffer.from(job.bytes, 'base64'));
    if (job.type !== 'PROTOBUF') return value;
    return { type: value.$typeName, fields: Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith('$'))) };
  },
  // The client that people use beside kafkajs.
  async kafkajs(job) {
    const registry = new kafkajs.SchemaRegistry({ host: job.url });
    const registered = await registry.register({ type: job.type, schema: job.schema }, { subject: job.subject });
    const bytes = await registry.encode(registered.id, job.value);
    const said = { id: registered.id, bytes: bytes.toString('base64'), back: await registry.decode(bytes) };
    said.latest = await registry.getLatestSchemaId(job.subject);
    said.numbered = await registry.getRegistryId(job.subject, 1);
    said.found = await registry.getRegistryIdBySchema(job.subject, { type: job.type, schema: job.schema });
    return said;
  },
  async kafkajsDecode(job) {
    return new kafkajs.SchemaRegistry({ host: job.url }).decode(Buffer.from(job.bytes, 'base64'));
  },
};

console.log(JSON.stringify('ready'));
readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const job = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: await jobs[job.job](job) }, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error), stack: error.stack }));
  }
});
