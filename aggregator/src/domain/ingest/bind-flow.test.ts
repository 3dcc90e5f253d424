import { FLOW_METRICS, HEADERS } from "@isochrone/telemetry";
import { expect, test } from "vitest";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import { FlowRates } from "../flow-rates.ts";
import { Tables } from "../graphs/tables.ts";
import { HEADER_SPEAKERS } from "../speakers/speaker.ts";
import { Ingest } from "./ingest.ts";

const NOW = 1_700_000_000_000;
const ID = "site/gate/decode->detect";
const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 16, maxChannels: 100 };

function build() {
  const tables = new Tables(SHAPE, { maxLinks: 4, maxChannels: 100, maxPods: 100 });
  const flows = new FlowRates({ maxEntries: 3, maxAgeMs: 90_000 });
  const refused: string[] = [];
  const onRefused = (_: string, reason: string): void => void refused.push(reason);
  const ingest = new Ingest(tables, OPTIONS, { flows, onRefused, speakers: HEADER_SPEAKERS });
  /** As the manager of `speaker` says it of `node`. */
  const tell = (node: string, flow: unknown, bytes: number, speaker = node): void => {
    const attributes = { flow: flow as string };
    const metrics = [
      gauge(FLOW_METRICS.allowed, attributes, NOW, 1e6),
      counter(FLOW_METRICS.sent, attributes, NOW, bytes, NOW - 10_000, "delta"),
      counter(FLOW_METRICS.dropped, attributes, NOW, 0, NOW - 10_000, "delta"),
    ];
    const headers = { [HEADERS.speaker]: `node/${speaker}` };
    ingest.take(recordOf(node, metrics, { arrivedAtMs: NOW, source: node, headers }), NOW);
  };
  return { flows, ingest, refused, tell };
}

test("a manager tells what its node has sent of a flow", () => {
  const { flows, ingest, tell } = build();
  tell("a", ID, 1_250_000);
  expect(flows.sent("a", ID, NOW)).toBe(1e6);
  expect(ingest.counts.unused.unknown_metric).toBe(0);
});

test("no node tells what another one has sent", () => {
  const { flows, refused, tell } = build();
  tell("a", ID, 1_250_000, "b");
  expect(flows.sent("a", ID, NOW)).toBeNull();
  expect(refused).toContain("not_yours");
});

test.each([[""], [7], ["x".repeat(1_101)]])("a flow called %s is nobody's", (id) => {
  const { flows, ingest, tell } = build();
  tell("a", id, 1);
  expect(flows.size).toBe(0);
  expect(ingest.counts.unused.unattributed).toBe(1);
});

test("more flows than there is room for are counted, and take no room of others", () => {
  const { flows, ingest, tell } = build();
  for (let at = 0; at < 5; at++) tell("a", `site/gate/source->${at}`, 1);
  expect(flows.size).toBe(3);
  expect(ingest.counts.unused.too_many_channels).toBe(2);
});
