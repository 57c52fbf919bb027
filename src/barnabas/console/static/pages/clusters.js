// Other clusters: links that fill topics here, each with its partitions, pause and resume; mirrors, as topics tell of them.
import { html, useMemo, useState } from "../lib/dom.js";
import { send } from "../lib/api.js";
import { ago, bytes, count, moment, rate, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { Badge, Empty, Loading, Notice, Page, ProblemNotice, Table, toast } from "../lib/ui.js";

const SILENT_MS = 30000; // a heartbeat comes every second; a mirror that moves to another worker is late

export function Clusters() {
  const here = useHere();
  const [link] = here.place.rest;
  return link ? html`<${One} key=${link} name=${link} />` : html`<${Page} title="Other clusters"><${Links} /><${Mirrors} /><//>`;
}

const lasting = (ms) => seconds(Math.max(0, (Date.now() - ms) / 1000));

// What a link is at, worst first.
function State({ row }) {
  if (row.paused) return html`<${Badge} kind="warning">paused<//>`;
  if (row.unreached_ms !== null) return html`<${Badge} kind="bad" title=${row.errors.join("\n")}>source not reached for ${lasting(row.unreached_ms)}<//>`;
  if (row.errors.length || row.wrong) return html`<${Badge} kind="bad" title=${row.errors.join("\n")}>${row.wrong ? `${whole(row.wrong)} partitions with errors` : "problems"}<//>`;
  if (!row.partitions && row.promoted.length) return html`<${Badge}>promoted<//>`;
  return html`<${Badge} kind="good">follows<//>`;
}

// Nothing is lost by either, so nobody is asked.
function Pausing({ row, onDone, small = false }) {
  const here = useHere();
  const [busy, setBusy] = useState(false);
  const turn = async () => {
    setBusy(true);
    try {
      await send("POST", here.api(`/links/${encodeURIComponent(row.name)}/${row.paused ? "resume" : "pause"}`));
      toast(row.paused ? `${row.name} goes on` : `paused ${row.name}`);
      onDone();
    } catch (problem) { toast([problem.message, problem.wayOut].filter(Boolean).join(". "), "bad"); }
    setBusy(false);
  };
  return here.mayChange && html`<button class=${small ? "link" : ""} disabled=${busy} aria-label=${`${row.paused ? "Resume" : "Pause"} ${row.name}`} onClick=${turn}>${row.paused ? "Resume" : "Pause"}</button>`;
}

const Silent = ({ nodes }) => nodes.length > 0 && html`<${Notice} kind="plain">Node ${nodes.join(", ")} does not answer: what it leads is missing here.<//>`;

function Topics({ topics }) {
  const here = useHere();
  return html`${topics.slice(0, 3).map((each, index) => html`${index > 0 && ", "}<a key=${each} href=${here.link("topics", [each])}>${each}</a>`)}${topics.length > 3 && html` <span class="dim" title=${topics.slice(3, 50).join(", ")}>and ${whole(topics.length - 3)} more</span>`}`;
}

function Links() {
  const here = useHere();
  const [data, problem, reload] = useLive(here.api("/links"));
  const columns = useMemo(() => [
    { key: "name", title: "Link", wide: true, show: (row) => html`<a href=${here.link("clusters", [row.name])}>${row.name}</a><br /><small>${row.source ?? ""}</small>` },
    { key: "state", title: "State", sort: (row) => [row.paused, row.unreached_ms === null, row.wrong].join(), show: (row) => html`<${State} row=${row} />` },
    { key: "topics", title: "Topics", number: true, show: (row) => whole(row.topics) },
    { key: "partitions", title: "Partitions", number: true, show: (row) => whole(row.partitions) },
    { key: "lag", title: "Lag", number: true, show: (row) => count(row.lag) },
    { key: "seconds", title: "Behind", number: true, show: (row) => seconds(row.seconds) },
    { key: "bytes_rate", title: "Rate", number: true, show: (row) => (row.bytes_rate === null ? "–" : html`${bytes(row.bytes_rate)}/s`) },
    { key: "promoted", title: "Promoted", wide: true, sort: (row) => row.promoted.length, show: (row) => html`<${Topics} topics=${row.promoted} />` },
    { key: "actions", title: "", show: (row) => html`<${Pausing} row=${row} onDone=${reload} small />` },
  ], [here.cluster, here.mayChange]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<section><h2>Links</h2>
    <p class="dim">Topics that follow those of another cluster, byte for byte, until they are promoted.</p>
    ${problem && html`<${ProblemNotice} problem=${problem} />`}
    <${Silent} nodes=${data.silent} />
    ${data.refused ? html`<${Notice} kind="plain">Links are not shown: ${data.refused}<//>`
    : data.links.length ? html`<${Table} label="Links" id=${(row) => row.name} rows=${data.links} columns=${columns} />`
    : html`<${Empty}>${data.cannot ? "This cluster has no links: it is Apache Kafka. A link is made in the cluster that follows." : html`No topic here follows another cluster. Make a link: <code>barnabas link create NAME --from HOST:PORT --topics REGEX</code>`}<//>`}
  </section>`;
}

function One({ name }) {
  const here = useHere();
  const [data, problem, reload] = useLive(here.api(`/links/${encodeURIComponent(name)}`));
  const columns = useMemo(() => [
    { key: "topic", title: "Topic", wide: true, sort: (row) => `${row.topic} ${String(row.partition).padStart(6, "0")}`, show: (row) => html`<a href=${here.link("topics", [row.topic])}>${row.topic}</a>` },
    { key: "partition", title: "Partition", number: true },
    { key: "end", title: "Here", number: true, show: (row) => whole(row.end) },
    { key: "source_end", title: "Source", number: true, show: (row) => whole(row.source_end) },
    { key: "lag", title: "Lag", number: true, show: (row) => whole(row.lag) },
    { key: "seconds", title: "Behind", number: true, show: (row) => seconds(row.seconds) },
    { key: "error", title: "State", wide: true, show: (row) => html`${row.error ?? (row.unreached_ms !== null ? `source not reached for ${lasting(row.unreached_ms)}` : row.source_end === null ? "begins" : "follows")}${row.skipped > 0 && html`<br /><small>${whole(row.skipped)} records were deleted at the source before they came</small>`}` },
  ], [here.cluster]);
  const crumb = html`<a href=${here.link("clusters")}>Other clusters</a> <span class="dim">/</span> ${name}`;
  if (!data) return html`<${Page} title=${crumb}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`}<//>`;
  return html`<${Page} title=${crumb} actions=${html`<${Pausing} row=${data} onDone=${reload} />`}>
    ${problem && html`<${ProblemNotice} problem=${problem} />`}
    ${data.source && html`<p class="dim">Topics like <code>${data.wanted ?? ".*"}</code> of <code>${data.source}</code></p>`}
    <div class="tiles">
      <div class="tile"><span>State</span><b><${State} row=${data} /></b></div>
      <div class="tile"><span>Lag, records</span><b>${count(data.lag)}</b></div>
      <div class="tile"><span>Behind</span><b>${seconds(data.seconds)}</b></div>
      <div class="tile"><span>Rate</span><b>${data.bytes_rate === null ? "–" : `${bytes(data.bytes_rate)}/s`}</b> <small>${rate(data.records_rate, "records")}${data.limit > 0 && `, at most ${bytes(data.limit)}/s a node`}</small></div>
      <div class="tile"><span>Topics, groups synced</span><b>${data.synced_ms > 0 ? ago(data.synced_ms) : "–"}</b></div>
      ${data.users !== null && html`<div class="tile"><span>Users that came over</span><b>${whole(data.users)}</b> <small>${data.own_users > 0 && `${whole(data.own_users)} left alone: this cluster's own`}</small></div>`}
    </div>
    ${data.unreached_ms !== null && html`<${Notice}><strong>The source is not reached since ${moment(data.unreached_ms)}.</strong> What it has written since is not here; it comes when it is back.<//>`}
    ${data.errors.map((each) => html`<${Notice} key=${each}>${each}<//>`)}
    <${Silent} nodes=${data.silent} />
    ${data.promoted.length > 0 && html`<section><h2>Promoted</h2><p class="dim">Ordinary topics now: clients write to them, and the link fills them no more.</p><p><${Topics} topics=${data.promoted} /></p></section>`}
    <section><h2>Partitions</h2>
      ${data.paused ? html`<${Empty}>Nothing is brought over while the link is paused.<//>`
      : html`<${Table} label="Partitions" id=${(row) => `${row.topic}-${row.partition}`} rows=${data.list} columns=${columns} sortBy="lag" descending empty="The link fills no topic." />`}
      ${data.left_out > 0 && html`<p class="dim">${whole(data.left_out)} more that are less behind: <code>barnabas link status ${name} --json</code></p>`}</section>
  <//>`;
}

function Mirrors() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/mirrors"), { every: 2 });
  const columns = useMemo(() => [
    { key: "other", title: "Cluster", wide: true, show: (row) => html`<b>${row.other}</b>` },
    { key: "incoming", title: "Direction", sort: (row) => Number(row.incoming), show: (row) => (row.incoming ? "from there to here" : "from here to there") },
    { key: "state", title: "State", sort: (row) => row.heartbeat_ms, show: (row) => html`<${Beat} ms=${row.heartbeat_ms} />` },
    { key: "topics", title: "Copied topics", number: true, show: (row) => whole(row.topics) },
    { key: "heartbeat_ms", title: "Last heartbeat", number: true, show: (row) => ago(row.heartbeat_ms) },
    { key: "checkpoint_ms", title: "Last offsets", number: true, show: (row) => ago(row.checkpoint_ms) },
  ], [here.cluster]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<section><h2>Mirrors</h2>
    <p class="dim">As their topics here show them: heartbeats, checkpoints and offset syncs, of <code>barnabas mirror</code> and MirrorMaker. How far one is behind says <code>barnabas mirror status</code>, which asks both clusters.</p>
    ${problem && html`<${ProblemNotice} problem=${problem} />`}
    ${data.mirrors.length ? html`<${Table} label="Mirrors" id=${(row) => `${row.incoming}-${row.other}`} rows=${data.mirrors} columns=${columns} />`
    : html`<${Empty}>No topic here belongs to a mirror. Run one: <code>barnabas mirror run east=HOST:PORT west=HOST:PORT --both</code><//>`}
  </section>`;
}

function Beat({ ms }) {
  if (ms === null || ms === undefined) return html`<${Badge} title="It may be set up without them.">no heartbeats<//>`;
  return Date.now() - ms < SILENT_MS ? html`<${Badge} kind="good">alive<//>` : html`<${Badge} kind="bad" title="It is paused, has ended, or cannot reach one of the clusters.">silent for ${lasting(ms)}<//>`;
}
