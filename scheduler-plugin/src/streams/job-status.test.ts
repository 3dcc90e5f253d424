import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { expect, test } from "vitest";
import type { Placement } from "./domain/placement.ts";
import { jobStatus, placedText, readPlacement } from "./job-status.ts";

const PLACEMENT: Placement = {
  hosts: new Map([["detect", "server"]]),
  seconds: new Map([["detect", 0.5]]),
  flows: [{ from: null, to: "detect", port: 9000, bitsPerSecond: 4e6, route: ["camera", "server"] }],
  throughput: 2,
  limit: { kind: "task", task: "detect", node: "server" },
  nextBest: null,
};

function written(placement: Placement): KubernetesObject {
  const object = { ...KINDS.streamJob, metadata: { name: "a", namespace: "site" } };
  const message = placedText(placement);
  const placed = { type: "Placed", status: "True", reason: "Placed", message } as const;
  const view = { phase: "Running", placement, measured: null, pods: new Map(), profiles: null } as const;
  return { ...object, status: jobStatus(object, { ...view, conditions: [placed] }, 0) };
}

test.each([null, "detect on box, decode on box: 1.00 frames/s"])(
  "the next leader goes on from what stands there, with the next best nodes %j",
  (nextBest) => {
    const placement = { ...PLACEMENT, nextBest };
    expect(readPlacement(written(placement))).toEqual({
      ...placement,
      limit: { kind: "source", node: "" },
    });
  },
);
