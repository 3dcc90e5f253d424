import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { KINDS } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deploymentObject, fill, nodeObject, podObject } from "../testing/cluster.ts";
import { StoreClusterWatch } from "./store-cluster-watch.ts";

let clock: ManualClock;
let store: ClusterStore;
let logger: MemoryLogger;
let watch: StoreClusterWatch;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = createMemoryStore({ clock });
  watch = new StoreClusterWatch({ store, clock, random: seededRandom(1), logger });
});

afterEach(() => watch.stop());

async function started(objects: readonly KubernetesObject[]): Promise<void> {
  await fill(store, objects);
  await watch.start();
  await clock.advance(10);
}

function appGroup(workloads: unknown[]): KubernetesObject {
  return { ...KINDS.appGroup, metadata: { namespace: "shop", name: "group" }, spec: { workloads } };
}

describe("StoreClusterWatch", () => {
  test("names the kinds that it still waits for", async () => {
    expect(watch.pending()).toEqual(["Node", "Pod", "ReplicaSet", "Deployment"]);
    await started([]);
    expect(watch.pending()).toEqual([]);
  });

  test("reads nodes in order of their names, pods with their workflow, and follows changes", async () => {
    await started([
      nodeObject("b", "z2"),
      nodeObject("a", "z1"),
      podObject("shop", "web-1", "a", { labels: { "isochrone.dev/workflow": "checkout" } }),
    ]);
    expect(watch.current().nodes.map(({ name, zone, ready }) => [name, zone, ready])).toEqual([
      ["a", "z1", true],
      ["b", "z2", true],
    ]);
    expect(watch.current().pods).toEqual([
      {
        namespace: "shop",
        name: "web-1",
        node: "a",
        workload: null,
        workflow: { namespace: "shop", name: "checkout" },
      },
    ]);
    await store.patch({ ...KINDS.node, name: "a" }, { spec: { unschedulable: true } });
    await clock.advance(10);
    expect(watch.current().nodes[0]!.cordoned).toBe(true);
  });

  test("gives the same state while nothing changed", async () => {
    await started([nodeObject("a", "z1")]);
    expect(watch.current()).toBe(watch.current());
  });

  test("pods that ended are no replicas", async () => {
    const ended = podObject("shop", "job-1", "a");
    await started([{ ...ended, status: { phase: "Succeeded" } }]);
    expect(watch.current().pods).toEqual([]);
  });

  test("an AppGroup's dependencies are declared channels, in bits per second", async () => {
    const dependency = {
      workload: { kind: "Deployment", name: "db" },
      maxNetworkCost: 30,
      minBandwidth: "10M",
    };
    await started([
      appGroup([{ workload: { kind: "Deployment", name: "web" }, dependencies: [dependency] }]),
    ]);
    expect(watch.current().declared).toEqual([
      {
        source: { namespace: "shop", name: "web" },
        target: { namespace: "shop", name: "db" },
        priority: null,
        maxNetworkCost: 30,
        minBandwidthBitsPerSecond: 1e7,
      },
    ]);
  });

  test("an annotation that can't be read is named once and stops nothing", async () => {
    await started([
      deploymentObject("shop", "web", "c", { "isochrone.dev/dependencies": "{" }),
      deploymentObject("shop", "api", "c", {
        "isochrone.dev/dependencies": '[{"name": "db"}, {"nme": "x"}]',
      }),
    ]);
    expect(watch.current().declared).toMatchObject([{ source: { name: "api" }, target: { name: "db" } }]);
    const subjects = new Set(logger.lines.map(({ fields }) => fields["subject"]));
    expect(subjects).toEqual(new Set(["Deployment shop/api", "Deployment shop/web"]));
    expect(logger.lines).toHaveLength(2);
  });
});
