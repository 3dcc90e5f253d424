import { expect, test } from "vitest";
import { channelLatency } from "./channel-latency.ts";
import { shop } from "./testing/shop.ts";

test("the mean over a pod's traffic of what its channels' round trips cost", () => {
  const { cluster, graph: workflow } = shop({
    pods: { web: ["n3", "n4"], db: ["n1"], log: ["n4"] },
    channels: [
      ["web", "db", 300],
      ["log", "web", 100],
    ],
  });
  const web = { namespace: "shop", name: "web-0", workload: "web" };
  const at = (node: string) => channelLatency(web, node, { cluster, workflow }, 0);
  // Three quarters to n1, a quarter to n4; one of two replicas has half.
  expect(at("n3")).toEqual({ ms: (3 * 20 + 1 * 1) / 4, bytesPerSecond: 200 });
  expect(at("n1")?.ms).toBe((3 * 0 + 1 * 20) / 4);
  expect(at("nowhere")).toBeNull();
  expect(channelLatency({ ...web, workload: "other" }, "n1", { cluster, workflow }, 0)).toBeNull();
  const replacement = { ...web, name: "web-new" };
  expect(channelLatency(replacement, "n3", { cluster, workflow }, 0)?.ms).toBeCloseTo(15.25, 9);
});
