import { WorkflowGraph, type Channel } from "@isochrone/topology";
import { expect, test } from "vitest";
import { channel, workload } from "../../testing/problems.ts";
import { aModel, aNode, aPod } from "../testing/objects.ts";
import { replicaCpu } from "./replica-cpu.ts";

const NEAREST: Partial<Channel> = { routing: "nearest", routingScopes: ["zone"] };

test("is the limit, else the request, of workloads whose callers go to the nearest; the planned pod counts first", () => {
  const limited = (cpu: string) => ({
    containers: [{ name: "main", resources: { requests: { cpu: "100m" }, limits: { cpu } } }],
  });
  const pods = [
    aPod("db-1", { namespace: "shop", node: "a", spec: limited("500m") }),
    aPod("cache-1", { namespace: "shop", node: "a", requests: { cpu: "250m" } }),
    aPod("free-1", { namespace: "shop", node: "a" }),
    aPod("all-1", { namespace: "shop", node: "a", requests: { cpu: "1" } }),
    aPod("own-1", { namespace: "shop", node: "a", requests: { cpu: "1" } }),
  ];
  const model = aModel([aNode("a", "z")], pods);
  const use = { cpu: 1, memory: 1 };
  const workflow = new WorkflowGraph({
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    namespace: "shop",
    name: "flow",
    workloads: ["db", "cache", "free", "all", "own"].map((name) =>
      workload(name, use, { [`${name}-1`]: "a" }),
    ),
    channels: [
      ...["db", "cache", "free"].map((name) => channel("web", name, 1, NEAREST)),
      channel("web", "all", 1, NEAREST),
      channel("job", "all", 1),
      channel("web", "own", 1, { routing: "nearest" }),
    ],
  });
  expect([...replicaCpu(workflow, model, new Map())]).toEqual([
    ["db", 500],
    ["cache", 250],
  ]);
  const newer = model.schedulingPod(aPod("db-2", { namespace: "shop", spec: limited("2") }));
  expect(replicaCpu(workflow, model, new Map([["db", newer]])).get("db")).toBe(2_000);
});
