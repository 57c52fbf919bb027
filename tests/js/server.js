// kafkajs as a servant: one JSON job a line on standard input, one JSON answer a line on standard output. Started once for all tests.
'use strict';
const readline = require('readline');
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs');
const snappy = require('kafkajs-snappy');
const lz4 = require('lz4js');
const xxh32 = require('lz4js/xxh32.js');
const zstd = require('@bokuweb/zstd-wasm');

// Kafka wants the flag that says blocks do not refer to each other (true of the one block lz4js writes); the header's checksum follows it.
const independent = (frame) => {
  frame[4] |= 0x20;
  frame[6] = (xxh32.hash(0, frame, 4, 2) >> 8) & 0xff;
  return frame;
};
// lz4js looks for a block's checksum before the block; it stands after it. So the frame is opened here, by its blocks.
const openFrame = (frame) => {
  const flags = frame[4];
  const blockBytes = 1 << (8 + 2 * ((frame[5] >> 4) & 7));
  let at = 7 + (flags & 0x08 ? 8 : 0);
  const parts = [];
  for (let size = frame.readUInt32LE(at); size !== 0; size = frame.readUInt32LE(at)) {
    const stored = size >>> 31 === 1;
    const length = size & 0x7fffffff;
    at += 4;
    if (stored) {
      parts.push(frame.subarray(at, at + length));
    } else {
      const out = Buffer.alloc(blockBytes);
      parts.push(out.subarray(0, lz4.decompressBlock(frame, out, at, length, 0)));
    }
    at += length + (flags & 0x10 ? 4 : 0);
  }
  return Buffer.concat(parts);
};
CompressionCodecs[CompressionTypes.Snappy] = snappy;
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => independent(Buffer.from(lz4.compress(encoder.buffer))),
  decompress: async (buffer) => openFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer, 3)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});
const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const bytes = (text) => (text === null || text === undefined ? null : Buffer.from(text, 'base64'));
const text = (data) => (data === null || data === undefined ? null : Buffer.from(data).toString('base64'));
// A token of a provider, by the client credentials grant.
const token = async ({ url, id, secret, scope }) => {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret, ...(scope ? { scope } : {}) });
  const answer = await fetch(url, { method: 'POST', body: form });
  return { value: (await answer.json()).access_token };
};
const client = (job) =>
  new Kafka({
    clientId: 'kafkajs-tests', brokers: [job.bootstrap], logLevel: logLevel.NOTHING, retry: { retries: job.retries ?? 8, initialRetryTime: 100 },
    ...(job.ca ? { ssl: { ca: [job.ca], cert: job.cert, key: job.key } } : {}), ...(job.sasl ? { sasl: job.sasl } : {}),
    ...(job.oauth ? { sasl: { mechanism: 'oauthbearer', oauthBearerProvider: () => token(job.oauth) } } : {}),
  });

const jobs = {
  async produce(job) {
    const producer = client(job).producer({ allowAutoTopicCreation: job.auto === true, idempotent: job.idempotent === true, maxInFlightRequests: 1 });
    await producer.connect();
    const messages = job.records.map((r) => {
      const headers = {};
      for (const [name, value] of r.headers || []) {
        headers[name] = name in headers ? [].concat(headers[name], bytes(value)) : bytes(value);
      }
      const message = { key: bytes(r.key), value: bytes(r.value), headers };
      if (r.partition !== undefined) message.partition = r.partition;
      if (r.timestamp !== undefined) message.timestamp = String(r.timestamp);
      return message;
    });
    const answer = await producer.send({ topic: job.topic, acks: job.acks ?? -1, compression: CODECS[job.codec || 'none'], messages });
    await producer.disconnect();
    return answer;
  },

  async transaction(job) {
    const producer = client(job).producer({ allowAutoTopicCreation: false, idempotent: true, maxInFlightRequests: 1, transactionalId: job.id });
    await producer.connect();
    try {
      const transaction = await producer.transaction();
      await transaction.send({ topic: job.topic, messages: job.records.map((r) => ({ key: bytes(r.key), value: bytes(r.value) })) });
      await transaction.commit();
    } finally {
      await producer.disconnect();
    }
    return null;
  },

  async consume(job) {
    const kafka = client(job);
    const admin = kafka.admin();
    await admin.connect();
    const ends = await admin.fetchTopicOffsets(job.topic);
    await admin.disconnect();
    const wanted = job.count ?? ends.reduce((n, p) => n + Number(p.high) - Number(p.low), 0);
    const consumer = kafka.consumer({ groupId: job.group, allowAutoTopicCreation: false, maxWaitTimeInMs: 200 });
    const records = [];
    await consumer.connect();
    await consumer.subscribe({ topics: [job.topic], fromBeginning: true });
    try {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${records.length} of ${wanted} records`)), job.timeout ?? 30000);
        consumer.on(consumer.events.CRASH, (e) => reject(e.payload.error));
        consumer.run({
          autoCommit: job.commit !== false,
          eachMessage: async ({ partition, message }) => {
            const headers = [];
            for (const [name, value] of Object.entries(message.headers || {})) {
              for (const one of Array.isArray(value) ? value : [value]) headers.push([name, text(one)]);
            }
            records.push({
              partition, offset: Number(message.offset), timestamp: Number(message.timestamp), key: text(message.key), value: text(message.value), headers,
            });
            if (records.length >= wanted) { clearTimeout(timer); resolve(); }
          },
        });
      });
    } finally {
      await consumer.disconnect();
    }
    return records;
  },

  async admin(job) {
    const admin = client(job).admin();
    await admin.connect();
    try {
      const answer = await admin[job.method](...(job.args || []));
      return answer === undefined ? null : answer;
    } finally {
      await admin.disconnect();
    }
  },
};

(async () => {
  await zstd.init();
  console.log('"ready"');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      const job = JSON.parse(line);
      answer = { ok: await jobs[job.job](job) };
    } catch (e) {
      answer = { error: `${e.name}: ${e.message}`, code: e.code, stack: e.stack };
    }
    console.log(JSON.stringify(answer, (_, v) => (typeof v === 'bigint' ? Number(v) : v)));
  }
  process.exit(0);
})();
