// A line chart of some series of the last hour, drawn by uPlot, in the page's colours.
import { html, useEffect, useRef } from "./dom.js";
import { count } from "./format.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// data: [times, values, ...]; series: [{label, colour: "--chart-1"}]
export function Chart({ title, data, series, format = count, height = 150 }) {
  const place = useRef(null);
  const plot = useRef(null);
  const names = series.map((each) => each.label).join("|");

  useEffect(() => {
    const box = place.current;
    if (!box || !window.uPlot) return undefined;
    const make = () => {
      plot.current?.destroy();
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      plot.current = new window.uPlot({
        width: Math.max(box.clientWidth, 120), height,
        legend: { show: false },
        cursor: { points: { size: 6 } },
        scales: { y: { range: (_, low, high) => [0, Math.max(high || 0, 1) * 1.1] } },
        axes: [{ ...axis, space: 70, size: 28, values: (_, ticks) => ticks.map((each) => new Date(each * 1000).toTimeString().slice(0, ticks.at(-1) - ticks[0] < 600 ? 8 : 5)) },
          { ...axis, size: (_, shown) => Math.max(44, ...(shown ?? []).map((each) => each.length * 7 + 14)), values: (_, ticks) => ticks.map((each) => format(each)).map((each, index, all) => (all.indexOf(each) === index ? each : "")) }],
        series: [{}, ...series.map((each, index) => ({
          label: each.label, width: 1.75, stroke: colour(each.colour || `--chart-${index + 1}`),
          fill: series.length === 1 ? `${colour(each.colour || "--chart-1")}22` : undefined, points: { show: false }, spanGaps: false,
        }))],
      }, last.current, box);
    };
    make();
    const sized = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(box.clientWidth, 120), height }));
    sized.observe(box);
    const themed = new MutationObserver(make);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => { sized.disconnect(); themed.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [names, height]);

  const last = useRef(data);
  last.current = data;
  useEffect(() => { plot.current?.setData(data); }, [data]);

  const newest = series.map((each, index) => data[index + 1]?.at(-1));
  const told = series.map((each, index) => `${each.label} ${format(newest[index] ?? 0)}`).join(", ");
  return html`<figure class="chart">
    <figcaption><span>${title}</span>
      <span class="legend">${series.map((each, index) => html`<span key=${each.label}><i class=${`swatch ${each.colour ? each.colour.replace("--chart-", "s") : `s${index + 1}`}`}></i>${series.length > 1 ? `${each.label} ` : ""}<b>${newest[index] === null || newest[index] === undefined ? "–" : format(newest[index])}</b></span>`)}</span>
    </figcaption>
    <div ref=${place} class="plot" role="img" aria-label=${`${title}: ${told}`}></div>
  </figure>`;
}
