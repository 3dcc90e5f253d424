// Counters of network managers become figures of channels, from the sending node only.
import { FLOW_METRICS, HEADERS, type Metric } from "@isochrone/telemetry";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState } from "../../testing/cluster.ts";
import { recordOf } from "../../testing/records.ts";
import type { PodState } from "../cluster-state.ts";
import { Tables } from "../graphs/tables.ts";
import { buildWorkflows } from "../graphs/workflows.ts";
import { HEADER_SPEAKERS } from "../speakers/speaker.ts";
import type { FlowFacts } from "./bind-flow.ts";
import { Ingest, type SpeakingParts } from "./ingest.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2_000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 10, maxChannels: 100, maxPods: 100 };
const OPTIONS = { maxFutureMs: 1_000, maxSeries: 1_000, maxSources: 16 };
const NOW = 1_700_000_000_000;
const STEP_MS = 10_000;
const FLOW = "site/gate/detect->track";
const KEY = {
  sourceNamespace: "site",
  source: "gate.detect",
  targetNamespace: "site",
  target: "gate.track",
};
/** `box` sends the flow through `relay`. */
const FACTS: FlowFacts = {
  channelOf: (node, flow) => {
    if (flow !== FLOW) return "unknown";
    return node === "box" ? KEY : node === "relay" ? "forwarded" : "unknown";
  },
};

interface Figures {
  readonly allowed?: number;
  readonly sent?: number;
  readonly dropped?: number;
}

function counted({ allowed = 8e6, sent = 5e6, dropped = 20 }: Figures = {}, flow = FLOW): Metric[] {
  const point = (value: number) => ({
    attributes: { flow },
    startMs: NOW - STEP_MS,
    timeMs: NOW,
    value,
  });
  const sum = { kind: "sum", temporality: "delta", monotonic: true } as const;
  return [
    { name: FLOW_METRICS.allowed, kind: "gauge", points: [point(allowed)] },
    { ...sum, name: FLOW_METRICS.sent, points: [point(sent)] },
    { ...sum, name: FLOW_METRICS.dropped, points: [point(dropped)] },
  ];
}

function pod(task: string, node: string): PodState {
  return {
    namespace: "site",
    name: `gate-${task}-1`,
    node,
    workload: { kind: "StreamJob", name: `gate.${task}` },
    workflow: { namespace: "site", name: "site" },
  };
}

describe("counters of flows", () => {
  let tables: Tables;
  let ingest: Ingest;
  beforeEach(() => begin({ flows: FACTS }));
  function begin(parts: SpeakingParts): void {
    tables = new Tables(SHAPE, LIMITS);
    ingest = new Ingest(tables, OPTIONS, parts);
  }
  const take = (node: string, metrics: Metric[], headers = {}): void =>
    void ingest.take(recordOf(node, metrics, { arrivedAtMs: NOW, headers }), NOW);
  const channelsOf = (from: Tables) => {
    const cluster = clusterState({ pods: [pod("detect", "box"), pod("track", "server")] });
    const [graph] = buildWorkflows(from, cluster, { version: 1, nowMs: NOW }, "full");
    return graph!.channels;
  };
  const FIGURES = {
    allowedBitsPerSecond: 8e6,
    achievedBitsPerSecond: 4e6,
    droppedPacketsPerSecond: 2,
  };

  test("are in the channel between the workloads, and not taken for traffic that somebody observed", () => {
    take("box", counted());
    expect(channelsOf(tables)).toMatchObject([
      {
        source: "gate.detect",
        target: "gate.track",
        bytesPerSecond: null,
        flow: FIGURES,
        origin: "observed",
        ageSeconds: 0,
      },
    ]);
    expect(ingest.counts.unused.unknown_metric).toBe(0);
  });

  test("of a node that forwards a flow are not added to those of the sender", () => {
    take("box", counted());
    take("relay", counted());
    expect(channelsOf(tables)).toMatchObject([{ flow: FIGURES }]);
  });

  test("of flows that no plan has are left out, and counted", () => {
    take("box", counted({}, "site/gate/other"));
    take("attic", counted());
    expect(channelsOf(tables)).toEqual([]);
    expect(ingest.counts.unused.unknown_node).toBe(6);
  });

  test("are refused of a node that speaks for another one", () => {
    begin({ flows: FACTS, speakers: HEADER_SPEAKERS });
    take("box", counted(), { [HEADERS.speaker]: "node/evil" });
    expect(channelsOf(tables)).toEqual([]);
    expect(ingest.counts.refused.not_yours).toBe(3);
    take("box", counted(), { [HEADERS.speaker]: "node/box" });
    expect(channelsOf(tables)).toMatchObject([{ flow: FIGURES }]);
  });

  test.each([
    ["negative", { allowed: -1, sent: -1, dropped: -1 }],
    ["no numbers", { allowed: NaN, sent: NaN, dropped: NaN }],
    ["beyond all bounds", { allowed: 1e300, sent: 1e300, dropped: 1e300 }],
  ])("that are %s are refused", (_, figures) => {
    take("box", counted(figures));
    expect(channelsOf(tables)).toEqual([]);
    expect(Object.values(ingest.counts.refused).reduce((sum, count) => sum + count, 0)).toBe(3);
  });
});
