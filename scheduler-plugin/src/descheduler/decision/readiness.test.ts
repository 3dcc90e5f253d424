import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { readinessOf } from "./readiness.ts";

const NOW = Date.UTC(2026, 0, 1, 12);

function pods(namespace: string, ready: number, unready: number, ageMs = 3_600_000): KubernetesObject[] {
  return Array.from({ length: ready + unready }, (_, at) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name: `${namespace}-${at}`,
      creationTimestamp: new Date(NOW - ageMs).toISOString(),
    },
    status: { conditions: [{ type: "Ready", status: at < ready ? "True" : "False" }] },
  }));
}

describe("readiness", () => {
  test("of a namespace with many unready pods stops that namespace, and nobody else", () => {
    const live = [...pods("shop", 10, 0), ...pods("tenant", 0, 300)];
    expect(readinessOf(live, 0.1, NOW)).toEqual({
      pods: 10,
      unreadyPods: 0,
      troubled: new Map([["tenant", "300 of 300 pods of namespace tenant aren't ready"]]),
    });
  });

  test("of several counts for all but the worst", () => {
    const live = [...pods("a", 6, 4), ...pods("b", 5, 5), ...pods("c", 10, 0)];
    const { pods: counted, unreadyPods, troubled } = readinessOf(live, 0.1, NOW);
    expect([counted, unreadyPods]).toEqual([20, 4]);
    expect([...troubled.keys()]).toEqual(["a", "b"]);
  });

  test("of one pod among few, of pods that start and of pods that go says nothing", () => {
    const going = pods("shop", 0, 5).map((pod) => ({
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: new Date(NOW).toISOString() },
    }));
    const live = [...pods("shop", 3, 1), ...pods("new", 0, 50, 30_000), ...going];
    const { unreadyPods, troubled } = readinessOf(live, 0.1, NOW);
    expect(unreadyPods).toBe(0);
    expect(troubled.size).toBe(0);
  });
});
