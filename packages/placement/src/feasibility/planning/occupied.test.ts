import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import { aModel, aNode, aPod } from "../testing/objects.ts";

const withPort = (name: string, port: object, node?: string): ApiObject =>
  aPod(name, {
    ...(node === undefined ? {} : { node }),
    spec: { containers: [{ name: "main", ports: [{ containerPort: 80, ...port }] }] },
  });

describe("NodePorts", () => {
  const taken = withPort("taken", { hostPort: 8080, hostIP: "10.0.0.1", protocol: "TCP" }, "n");
  const model = aModel([aNode("n")], [taken]);

  test.each([
    [{ hostPort: 8080 }, "NodePorts"],
    [{ hostPort: 8080, hostIP: "10.0.0.1" }, "NodePorts"],
    [{ hostPort: 8080, hostIP: "10.0.0.2" }, undefined],
    [{ hostPort: 8080, hostIP: "0.0.0.0", protocol: "UDP" }, undefined],
    [{ hostPort: 8081 }, undefined],
    [{}, undefined],
  ])("%j beside a pod with 8080/TCP on 10.0.0.1", (port, plugin) => {
    expect(model.verdict(withPort("p", port), "n")?.plugin).toBe(plugin);
  });

  test("a port of a sidecar counts, one of an init container doesn't", () => {
    const pod = (restartPolicy?: string): ApiObject =>
      aPod("p", { spec: { initContainers: [{ name: "i", restartPolicy, ports: [{ hostPort: 8080 }] }] } });
    expect(model.verdict(pod("Always"), "n")?.plugin).toBe("NodePorts");
    expect(model.verdict(pod(), "n")).toBeNull();
  });

  test("a port is free again when its pod is gone", () => {
    model.remove("default/taken");
    expect(model.verdict(withPort("p", { hostPort: 8080 }), "n")).toBeNull();
    model.place(taken, "n");
    expect(model.verdict(withPort("p", { hostPort: 8080 }), "n")?.plugin).toBe("NodePorts");
  });
});

describe("NodeResourcesFit", () => {
  const node = aNode("n", null, {
    allocatable: { cpu: "1", memory: "1Gi", pods: "3", "ephemeral-storage": "1Gi", "example.com/gpu": "1" },
  });
  const message = (requests: Record<string, string>, ...placed: ApiObject[]): string | undefined =>
    aModel([node], placed).verdict(aPod("p", { requests }), "n")?.message;
  const half = aPod("half", {
    node: "n",
    requests: { cpu: "500m", memory: "512Mi", "example.com/gpu": "1" },
  });

  test("what is left is enough to the last millicore", () => {
    expect(message({ cpu: "500m", memory: "512Mi" }, half)).toBeUndefined();
    expect(message({ cpu: "501m" }, half)).toBe("Insufficient cpu");
    expect(message({ memory: "513Mi" }, half)).toBe("Insufficient memory");
    expect(message({ "ephemeral-storage": "2Gi" }, half)).toBe("Insufficient ephemeral-storage");
    expect(message({ "example.com/gpu": "1" }, half)).toBe("Insufficient example.com/gpu");
    expect(message({ "example.com/fpga": "1" })).toBe("Insufficient example.com/fpga");
    expect(message({ cpu: "2", memory: "2Gi" })).toBe("Insufficient cpu, Insufficient memory");
  });

  test("a node that is overcommitted takes pods that ask for nothing of it", () => {
    const over = aPod("over", { node: "n", requests: { cpu: "3" } });
    expect(message({ memory: "1Mi" }, over)).toBeUndefined();
    expect(message({ cpu: "0" }, over)).toBeUndefined();
    expect(message({ cpu: "1m" }, over)).toBe("Insufficient cpu");
  });

  test("pods are counted", () => {
    const others = ["a", "b", "c"].map((name) => aPod(name, { node: "n" }));
    expect(message({}, ...others.slice(1))).toBeUndefined();
    expect(message({}, ...others)).toBe("Too many pods");
  });

  test("pods that are being deleted count, those that have finished don't", () => {
    const full = { node: "n", requests: { cpu: "1" } };
    const terminating = aPod("t", { ...full, metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
    expect(message({ cpu: "1m" }, terminating)).toBe("Insufficient cpu");
    for (const phase of ["Succeeded", "Failed"])
      expect(message({ cpu: "1" }, aPod("f", { ...full, status: { phase } }))).toBeUndefined();
  });
});
