import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { expect, test } from "vitest";
import type { Placement } from "./domain/placement.ts";
import { JobFlows } from "./job-flows.ts";
import { KnownJobs, type KnownJob } from "./known-jobs.ts";

const JOB = new KnownJobs({ monotonic: () => 0 }).of({
  ...KINDS.streamJob,
  metadata: { namespace: "site", name: "gate", uid: "u1" },
  spec: {
    source: { node: "camera", bytesPerFrame: 1 },
    tasks: [
      {
        name: "detect",
        requests: { cpu: "1", memory: "1Gi" },
        profile: [{ secondsPerFrame: 0.1 }],
        template: { spec: { containers: [{ name: "stage", image: "example.com/stage:1" }] } },
      },
    ],
  },
}) as KnownJob;
const PLACEMENT: Placement = {
  hosts: new Map([["detect", "box"]]),
  seconds: new Map(),
  flows: [{ from: null, to: "detect", port: null, bitsPerSecond: 1, route: ["camera", "box"] }],
  throughput: 1,
  limit: { kind: "source", node: "camera" },
  nextBest: null,
};

function flowsWith(pod: KubernetesObject | null): JobFlows {
  const flows = new JobFlows({
    podOf: () => pod,
    addresses: new Map([
      ["camera", "10.0.0.1"],
      ["box", "10.0.0.2"],
    ]),
  });
  flows.add(JOB, PLACEMENT);
  return flows;
}

test("flows of a job aren't all known before its pods are seen, though none may be missing a rule", () => {
  const unseen = flowsWith(null);
  expect([unseen.isComplete("u1"), [...unseen.nodesOf("u1")]]).toEqual([false, []]);
  const pod = (hostNetwork: boolean): KubernetesObject => ({
    ...KINDS.pod,
    metadata: { namespace: "site", name: "p" },
    spec: { hostNetwork },
  });
  const onNode = flowsWith(pod(true));
  expect([onNode.isComplete("u1"), [...onNode.nodesOf("u1")]]).toEqual([true, ["camera", "box"]]);
  const inCluster = flowsWith(pod(false));
  expect(inCluster.isComplete("u1")).toBe(true);
  expect(inCluster.withoutAddress("u1")).toEqual(["source->detect"]);
});

test("names the flows of a job for which a node's plan has no place", () => {
  const flows = flowsWith({
    ...KINDS.pod,
    metadata: { namespace: "site", name: "p" },
    spec: { hostNetwork: true },
  });
  expect(flows.withoutPlace("u1")).toEqual([]);
  flows.leaveOut(flows.addressed);
  expect(flows.withoutPlace("u1")).toEqual(["source->detect"]);
  expect(flows.withoutPlace("another")).toEqual([]);
});
