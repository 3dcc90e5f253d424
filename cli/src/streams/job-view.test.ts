import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { FlowPlan, PlannedFlow, StreamJobView } from "@isochrone/topology";
import { channel } from "@isochrone/placement/testing";
import { describe, expect, test } from "vitest";
import { flowsText, flowViews } from "./flows-text.ts";
import { jobsText, jobText, jobView, jobViewOf } from "./job-view.ts";

const RUNNING: KubernetesObject = {
  ...KINDS.streamJob,
  metadata: { namespace: "site", name: "gate" },
  spec: { minThroughput: 2 },
  status: {
    phase: "Running",
    throughput: 5,
    measuredThroughput: 4.796510156044243,
    limitText: "task detect on box",
    tasks: [
      { name: "detect", node: "box", secondsPerFrame: 0.2 },
      { name: "track", node: "server", secondsPerFrame: 0.1 },
    ],
    flows: [
      { to: "detect", bitsPerSecond: 10e6, route: ["camera", "box"] },
      { from: "detect", to: "track", bitsPerSecond: 8e5, route: ["box", "server"] },
    ],
    profiles: [
      { task: "detect", kind: "arm64, 4 CPUs", secondsPerFrame: 0.2 },
      { task: "detect", kind: "amd64, 8 CPUs", failure: "exit code 1 (Error)" },
    ],
    conditions: [
      {
        type: "Placed",
        status: "True",
        reason: "Placed",
        message: "all tasks have nodes; next best when they were chosen: track on box: 4.00 frames/s",
      },
    ],
  },
};
const WAITING: KubernetesObject = {
  ...KINDS.streamJob,
  metadata: { namespace: "site", name: "yard" },
  spec: {},
  status: {
    phase: "Waiting",
    limitText: "waits: NoRoom",
    conditions: [
      { type: "Placed", status: "False", reason: "NoRoom", message: "task detect needs 2000m CPU" },
    ],
  },
};

describe("StreamJobs for people", () => {
  test("are listed with what limits or delays them", () => {
    expect(jobsText([RUNNING, WAITING].map(jobView))).toBe(
      [
        "namespace  job   phase    frames/s  measured  promised  limited by          nodes",
        "site       gate  Running         5      4.80         2  task detect on box  box server",
        "site       yard  Waiting         –         –         –  waits: NoRoom",
      ].join("\n"),
    );
    expect(jobsText([])).toBe("there is no StreamJob");
  });

  test("are explained by tasks and flows, or by what they wait for", () => {
    expect(jobText(jobView(RUNNING))).toBe(
      [
        "StreamJob site/gate: Running, 5.00 frames/s of 2 promised, 4.80 measured",
        "limited by task detect on box",
        "next best when they were chosen: track on box: 4.00 frames/s",
        "",
        "task    node    s/frame  frames/s",
        "detect  box        0.20         5",
        "track   server     0.10        10",
        "",
        "flow              rate           route",
        "source -> detect  10.000 Mbit/s  camera box",
        "detect -> track   0.800 Mbit/s   box server",
        "",
        "profiled task  kind of node   s/frame  last attempt",
        "detect         arm64, 4 CPUs     0.20  measured",
        "detect         amd64, 8 CPUs        –  exit code 1 (Error)",
      ].join("\n"),
    );
    expect(jobText(jobView(WAITING))).toBe(
      "StreamJob site/yard: Waiting\n\nPlaced: NoRoom: task detect needs 2000m CPU",
    );
    expect(jobText(jobView({ ...WAITING, status: {} }))).toBe(
      "StreamJob site/yard: no controller has seen it",
    );
  });
});

test("a StreamJob as the graph API says it is explained alike", () => {
  const job: StreamJobView = {
    namespace: "site",
    name: "gate",
    phase: "Running",
    framesPerSecond: 5,
    measuredFramesPerSecond: 4.796510156044243,
    minThroughput: 2,
    limit: { kind: "link", source: "box", target: "server" },
    waits: null,
    tasks: [{ name: "detect", node: "box", secondsPerFrame: 0.2 }],
    flows: [
      {
        from: null,
        to: "detect",
        bytesPerFrame: 250_000,
        bitsPerSecond: 10e6,
        sentBitsPerSecond: null,
        route: ["camera", "box"],
      },
    ],
  };
  expect(jobText(jobViewOf(job))).toBe(
    [
      "StreamJob site/gate: Running, 5.00 frames/s of 2 promised, 4.80 measured",
      "limited by link box -> server",
      "",
      "task    node  s/frame  frames/s",
      "detect  box      0.20         5",
      "",
      "flow              rate           route",
      "source -> detect  10.000 Mbit/s  camera box",
    ].join("\n"),
  );
  const waits = { reason: "NoRoom", message: "task detect needs 2000m CPU" };
  const waiting = { ...job, phase: "Waiting", framesPerSecond: null, limit: null, waits } as const;
  expect(jobText(jobViewOf({ ...waiting, measuredFramesPerSecond: null, tasks: [], flows: [] }))).toBe(
    "StreamJob site/gate: Waiting, 2 frames/s promised\n\nPlaced: NoRoom: task detect needs 2000m CPU",
  );
});

describe("planned flows", () => {
  const flow = (fields: Partial<PlannedFlow>): PlannedFlow => ({
    id: "site/gate/detect->track",
    owner: { kind: "StreamJob", namespace: "site", name: "gate" },
    channel: { source: "gate.detect", target: "gate.track" },
    protocol: "tcp",
    source: { node: "a", address: "10.0.0.1", port: null },
    target: { node: "c", address: "10.0.0.2", port: 7000 },
    next: null,
    previous: null,
    routed: true,
    bitsPerSecond: 8e5,
    ...fields,
  });
  const plan = (node: string, flows: PlannedFlow[]): FlowPlan => ({
    version: "1",
    node,
    epoch: "e",
    generation: 1,
    neighbours: [],
    flows,
  });
  const plans = [
    plan("c", [flow({ previous: "b" })]),
    plan("a", [flow({ next: "b" })]),
    plan("b", [flow({ previous: "a", next: "c" })]),
    plan("d", []),
  ];
  const figures = { allowedBitsPerSecond: 8e5, achievedBitsPerSecond: 7e5, droppedPacketsPerSecond: 2.5 };
  const graphs = [
    {
      version: 1,
      observedAt: "2026-01-01T00:00:00.000Z",
      namespace: "site",
      name: "site",
      workloads: [],
      channels: [channel("gate.detect", "gate.track", null, { flow: figures })],
    },
  ];

  test("are put together from the plans of the nodes on their way", () => {
    expect(flowViews(plans, graphs, null)).toEqual([
      {
        id: "site/gate/detect->track",
        bitsPerSecond: 8e5,
        achievedBitsPerSecond: 7e5,
        droppedPacketsPerSecond: 2.5,
        route: ["a", "b", "c"],
      },
    ]);
    const twins = plan("a", [flow({ next: "b" }), flow({ next: "b", id: "site/gate/twin" })]);
    expect(flowViews([twins], graphs, null)).toMatchObject([
      { achievedBitsPerSecond: null },
      { achievedBitsPerSecond: null },
    ]);
    expect(flowViews(plans, graphs, "b")).toHaveLength(1);
    expect(flowViews(plans, graphs, "d")).toEqual([]);
    expect(flowsText(flowViews(plans, graphs, null))).toBe(
      "flow                     rate          achieved      dropped/s  route\nsite/gate/detect->track  0.800 Mbit/s  0.700 Mbit/s       2.50  a b c",
    );
    expect(flowsText([])).toBe("no flow is planned");
  });

  test("that run in a circle end there", () => {
    const circle = [plan("a", [flow({ next: "b" })]), plan("b", [flow({ previous: "a", next: "a" })])];
    expect(flowViews(circle, [], null)[0]!.route).toEqual(["a", "b"]);
  });
});
