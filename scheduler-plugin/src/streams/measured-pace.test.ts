import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { channel } from "@isochrone/placement/testing";
import { WorkflowGraph, type Channel } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import type { JobFlow, Placement } from "./domain/placement.ts";
import { withHeaders } from "@isochrone/streams";
import { KnownJobs, type KnownJob } from "./known-jobs.ts";
import { MeasuredPaces } from "./measured-pace.ts";

const template = { spec: { containers: [{ name: "stage", image: "example.com/stage:1" }] } };
const OBJECT: KubernetesObject = {
  ...KINDS.streamJob,
  metadata: { namespace: "site", name: "gate", uid: "u1" },
  spec: {
    source: { node: "camera", bytesPerFrame: 250_000 },
    tasks: [
      {
        name: "detect",
        requests: { cpu: "1", memory: "1Gi" },
        profile: [{ secondsPerFrame: 0.1 }],
        downstream: [{ task: "track", bytesPerFrame: 1_000 }],
        template,
      },
      {
        name: "track",
        requests: { cpu: "1", memory: "1Gi" },
        profile: [{ secondsPerFrame: 0.1 }],
        template,
      },
    ],
  },
};
const JOB = new KnownJobs({ monotonic: () => 0 }).of(OBJECT) as KnownJob;

const flow = (from: string | null, to: string): JobFlow => ({
  from,
  to,
  port: null,
  bitsPerSecond: 1,
  route: ["a", "b"],
});
const PLACEMENT: Placement = {
  hosts: new Map(),
  seconds: new Map(),
  flows: [flow(null, "detect"), flow("detect", "track")],
  throughput: 5,
  limit: { kind: "source", node: "camera" },
  nextBest: null,
};

function counted(source: string, target: string, bytes: number, paces: number): Channel {
  const achievedBitsPerSecond = withHeaders(bytes) * 8 * paces;
  const figures = { allowedBitsPerSecond: 1e9, achievedBitsPerSecond, droppedPacketsPerSecond: 0 };
  return channel(source, target, null, { flow: figures });
}

function graphOf(...channels: readonly Channel[]): WorkflowGraph {
  return new WorkflowGraph({
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    namespace: "site",
    name: "site",
    workloads: [],
    channels: [...channels],
  });
}

function paceWith(...channels: readonly Channel[]): number | null {
  const graph = graphOf(...channels);
  const paces = new MeasuredPaces({
    workflow: (namespace, name) => (namespace === "site" && name === "site" ? graph : null),
  });
  paces.read(JOB, PLACEMENT);
  return paces.of(JOB.uid);
}

describe("the measured pace of a job", () => {
  const source = counted("gate.source", "gate.detect", 250_000, 4.61);
  test("is that of its slowest flow, without headers", () => {
    expect(paceWith(source, counted("gate.detect", "gate.track", 1_000, 4.23))).toBe(4.2);
    expect(paceWith(source, counted("gate.detect", "gate.track", 1_000, 0))).toBe(0);
  });

  test("is unknown while a flow isn't counted", () => {
    expect(paceWith(source)).toBeNull();
    expect(paceWith(source, channel("gate.detect", "gate.track", 1e6))).toBeNull();
    const paces = new MeasuredPaces({ workflow: () => null });
    for (const placement of [PLACEMENT, { ...PLACEMENT, flows: [] }]) {
      paces.read(JOB, placement);
      expect([paces.of(JOB.uid), paces.fastest(JOB.uid)]).toEqual([null, null]);
    }
  });

  test("is remembered at its best while the tasks stay where they are", () => {
    let pace = 4;
    const paces = new MeasuredPaces({
      workflow: () => graphOf(counted("gate.source", "gate.detect", 250_000, pace)),
    });
    const placement = { ...PLACEMENT, hosts: new Map([["detect", "a"]]), flows: [flow(null, "detect")] };
    paces.read(JOB, placement);
    pace = 3;
    paces.read(JOB, placement);
    expect([paces.of(JOB.uid), paces.fastest(JOB.uid)]).toEqual([3, 4]);
    paces.read(JOB, { ...placement, hosts: new Map([["detect", "b"]]) });
    expect(paces.fastest(JOB.uid)).toBe(3);
    paces.keep(new Set());
    expect([paces.of(JOB.uid), paces.fastest(JOB.uid)]).toEqual([null, null]);
  });
});
