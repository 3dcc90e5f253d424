import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { withHeaders } from "@isochrone/streams";
import { expect, test } from "vitest";
import { jobViewOf } from "./job-views.ts";

const profile = [{ secondsPerFrame: 0.1 }];
const requests = { cpu: "1", memory: "1Gi" };

const job = (status: Record<string, unknown>, spec: Record<string, unknown> = {}): KubernetesObject => ({
  ...KINDS.streamJob,
  metadata: { namespace: "site", name: "gate" },
  spec: {
    source: { node: "camera", bytesPerFrame: 250_000 },
    minThroughput: 2,
    tasks: [
      { name: "detect", requests, profile, downstream: [{ task: "track", bytesPerFrame: 20_000 }] },
      { name: "track", requests, profile },
    ],
    ...spec,
  },
  status,
});

test("a placed job has its nodes, flows with what a frame takes, and its limit", () => {
  const view = jobViewOf(
    job({
      phase: "Running",
      throughput: 5,
      limit: { kind: "link", source: "box", target: "server", capacityBitsPerSecond: 5e6 },
      tasks: [
        { name: "detect", node: "box", secondsPerFrame: 0.1 },
        { name: "track", node: "server" },
      ],
      flows: [
        { to: "detect", bitsPerSecond: 1e7, route: ["camera", "box"] },
        { from: "detect", to: "track", port: 7000, bitsPerSecond: 8e5, route: ["box", "server"] },
      ],
      conditions: [{ type: "Placed", status: "True" }],
    }),
  );
  expect(view).toEqual({
    namespace: "site",
    name: "gate",
    phase: "Running",
    framesPerSecond: 5,
    measuredFramesPerSecond: null,
    minThroughput: 2,
    limit: { kind: "link", source: "box", target: "server" },
    waits: null,
    tasks: [
      { name: "detect", node: "box", secondsPerFrame: 0.1 },
      { name: "track", node: "server", secondsPerFrame: null },
    ],
    flows: [
      {
        from: null,
        to: "detect",
        bytesPerFrame: withHeaders(250_000),
        bitsPerSecond: 1e7,
        sentBitsPerSecond: null,
        route: ["camera", "box"],
      },
      {
        from: "detect",
        to: "track",
        bytesPerFrame: withHeaders(20_000),
        bitsPerSecond: 8e5,
        sentBitsPerSecond: null,
        route: ["box", "server"],
      },
    ],
  });
});

test("a job that waits says for what, and one that nobody has seen says nothing", () => {
  const why = { type: "Placed", status: "False", reason: "NoRoom", message: "no node has room" };
  const waits = jobViewOf(job({ phase: "Waiting", conditions: [why], limit: { kind: "task" } }));
  expect(waits).toMatchObject({
    phase: "Waiting",
    framesPerSecond: null,
    limit: null,
    waits: { reason: "NoRoom", message: "no node has room" },
  });
  expect(jobViewOf(job({}))).toMatchObject({ phase: null, waits: null, tasks: [], flows: [] });
});

test("a spec or status that makes no sense costs its own figures alone", () => {
  const view = jobViewOf(
    job(
      { phase: "Dancing", tasks: [{ name: "detect", node: "box" }], flows: [{ to: "detect" }], limit: 7 },
      { tasks: "none" },
    ),
  );
  expect(view).toMatchObject({ phase: null, limit: null, minThroughput: null });
  expect(view.flows).toEqual([expect.objectContaining({ to: "detect", bytesPerFrame: 0, route: [] })]);
});
