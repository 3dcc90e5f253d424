import { describe, expect, test } from "vitest";
import type { Labels } from "./json.ts";
import { podRequests } from "./pod-requests.ts";
import { aPod } from "../testing/objects.ts";

const container = (name: string, requests: Labels, fields: object = {}): object => ({
  name,
  resources: { requests },
  ...fields,
});
const sidecar = (name: string, requests: Labels): object =>
  container(name, requests, { restartPolicy: "Always" });
const requestsOf = (spec: object, status: object = {}, placed = false): Record<string, number> =>
  Object.fromEntries(podRequests(aPod("p", { spec: { ...spec }, status: { ...status } }), placed).requests);

describe("what a pod requests", () => {
  test("containers are added up", () => {
    const containers = [container("a", { cpu: "1", memory: "1G" }), container("b", { cpu: "500m" })];
    expect(requestsOf({ containers })).toEqual({ cpu: 1500, memory: 1e9 });
  });

  test("for scores, a container that names no CPU or memory counts with 100m and 200Mi", () => {
    const containers = [container("a", { cpu: "1" }), container("b", { memory: "0" })];
    const { scored } = podRequests(aPod("p", { spec: { containers } }), false);
    expect(Object.fromEntries(scored)).toEqual({ cpu: 1_100, memory: 200 * 1024 ** 2 });
  });

  test("of an init container and the containers, the greater, by resource", () => {
    const containers = [
      container("a", { cpu: "2", memory: "1G" }),
      container("b", { cpu: "1", memory: "1G" }),
    ];
    const initContainers = [
      container("i", { cpu: "2", memory: "1G" }),
      container("j", { cpu: "2", memory: "3G" }),
    ];
    expect(requestsOf({ containers, initContainers })).toEqual({ cpu: 3000, memory: 3e9 });
  });

  test("an init container runs beside the sidecars before it, not beside those after it", () => {
    const containers = [container("a", { cpu: "1" })];
    const late = [sidecar("s", { cpu: "1" }), container("i", { cpu: "5" }), sidecar("t", { cpu: "3" })];
    expect(requestsOf({ containers, initContainers: late })).toEqual({ cpu: 6000 });
    const early = [sidecar("s", { cpu: "1" }), sidecar("t", { cpu: "3" }), container("i", { cpu: "5" })];
    expect(requestsOf({ containers, initContainers: early })).toEqual({ cpu: 9000 });
  });

  test("resources of the pod replace those of its containers, and its overhead comes on top", () => {
    const containers = [container("a", { cpu: "1", memory: "1G", "example.com/gpu": "2" })];
    const spec = {
      containers,
      resources: { requests: { cpu: "3", "example.com/gpu": "7" } },
      overhead: { cpu: "250m", memory: "1M" },
    };
    expect(requestsOf(spec)).toEqual({ cpu: 3250, memory: 1_001_000_000, "example.com/gpu": 2 });
  });

  test("a container that is changed in place holds the most of what it wants, has and was promised", () => {
    const spec = { containers: [container("a", { cpu: "1" })] };
    const status = (reason?: string): object => ({
      containerStatuses: [
        { name: "a", resources: { requests: { cpu: "200m" } }, allocatedResources: { cpu: "500m" } },
      ],
      conditions: reason === undefined ? [] : [{ type: "PodResizePending", reason }],
    });
    expect(requestsOf(spec, status(), true)).toEqual({ cpu: 1000 });
    expect(requestsOf(spec, status("Deferred"), true)).toEqual({ cpu: 1000 });
    expect(requestsOf(spec, status("Infeasible"), true)).toEqual({ cpu: 500 });
    expect(requestsOf(spec, status("Infeasible"), false)).toEqual({ cpu: 1000 });
  });

  test("what is no quantity is not there", () => {
    expect(requestsOf({ containers: [container("a", { cpu: "much", memory: "1G" }), null] })).toEqual({
      memory: 1e9,
    });
    expect(requestsOf({ containers: "none" })).toEqual({});
  });
});
