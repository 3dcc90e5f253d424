import { nodeView, type KubernetesObject } from "@isochrone/kubernetes";
import { beforeEach, describe, expect, test } from "vitest";
import { nodeObject } from "../testing/cluster.ts";
import { NodeIndex } from "./node-index.ts";

let index: NodeIndex;

beforeEach(() => {
  index = new NodeIndex((object) => ({ ...nodeView(object), networkCapacityBitsPerSecond: null }));
  for (const name of ["b", "a"]) index.take({ type: "added", object: nodeObject(name, "z1") });
});

const changed = (object: KubernetesObject): boolean => index.take({ type: "modified", object });

describe("NodeIndex", () => {
  test("has the nodes in order of their names", () => {
    expect(index.current().nodes.map(({ name }) => name)).toEqual(["a", "b"]);
    index.take({ type: "deleted", object: nodeObject("a", "z1") });
    expect(index.current().nodes.map(({ name }) => name)).toEqual(["b"]);
  });

  test("a sign of life makes nothing anew", () => {
    const before = index.current();
    const object = nodeObject("a", "z1");
    const heartbeat = { type: "MemoryPressure", status: "False", lastHeartbeatTime: "2026-01-01T00:00:00Z" };
    const conditions = [...(object.status!["conditions"] as object[]), heartbeat];
    expect(changed({ ...object, status: { ...object.status, conditions } })).toBe(false);
    expect(index.current()).toBe(before);
  });

  test("another zone and the end of readiness do, and earlier answers stay as they were", () => {
    const before = index.current();
    expect(changed(nodeObject("a", "z2"))).toBe(true);
    expect(index.current().nodes[0]!.zone).toBe("z2");
    const object = nodeObject("b", "z1");
    expect(changed({ ...object, status: {} })).toBe(true);
    expect(index.current().nodes[1]!.ready).toBe(false);
    expect(before.nodes.map(({ zone, ready }) => [zone, ready])).toEqual([
      ["z1", true],
      ["z1", true],
    ]);
  });

  test("names the nodes that are being deleted, until they are gone", () => {
    const before = index.current();
    const object = nodeObject("a", "z1");
    const leaving = {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    };
    expect(changed(leaving)).toBe(true);
    expect([...index.current().leaving]).toEqual(["a"]);
    expect(before.leaving.size).toBe(0);
    index.take({ type: "deleted", object: leaving });
    expect(index.current().leaving.size).toBe(0);
  });
});
