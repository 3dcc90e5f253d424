import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { StoreClusterWatch } from "../adapters/store-cluster-watch.ts";
import { fill, nodeObject } from "../testing/cluster.ts";
import { clusterNode, linkOf, snapshotOf } from "../testing/snapshots.ts";
import { NetworkTopologyController } from "./controller.ts";
import { networkTopologySettings } from "./settings.ts";

const ZONES = ["z1", "z2", "z3"];
const NODES = ["n1", "n2", "n3", "n4", "n5"];
const zoneOf = (node: string): string => ZONES[NODES.indexOf(node) % ZONES.length]!;
const WORKLOADS = ["P1", "P2", "P3"];
const ROUNDS = 40;

const measured = (source: string, target: string) =>
  linkOf(source, target, 5, { rttMs: { p50: 5, p90: 5, p99: null, mean: 5, count: 30 } });

const GRAPH = snapshotOf(
  NODES.map((name) => clusterNode(name, { region: "r1", zone: zoneOf(name) })),
  [measured("n1", "n2"), measured("n1", "n3"), measured("n2", "n3")],
);

function appGroup(needs: readonly (readonly [string, string, number])[]): KubernetesObject {
  const reference = (selector: string) => ({ kind: "Deployment", name: selector.toLowerCase(), selector });
  return {
    ...KINDS.appGroup,
    metadata: { namespace: "default", name: "a1" },
    spec: {
      workloads: WORKLOADS.map((from) => ({
        workload: reference(from),
        dependencies: needs
          .filter(([source]) => source === from)
          .map(([, target, bits]) => ({ workload: reference(target), minBandwidth: bits })),
      })),
    },
  };
}

async function claims(store: ClusterStore, needs: readonly (readonly [string, string, number])[]) {
  const { items } = await store.list(KINDS.pod);
  const placed = items
    .filter(({ spec, status }) => spec?.["nodeName"] !== undefined && status?.["phase"] !== "Succeeded")
    .map(({ metadata, spec }) => ({
      workload: metadata.labels!["appgroup.diktyo.x-k8s.io.workload"]!,
      zone: zoneOf(String(spec!["nodeName"])),
    }));
  const sums: Record<string, number> = {};
  for (const from of ZONES) for (const to of ZONES) if (from !== to) sums[`${from} ${to}`] = 0;
  for (const p of placed)
    for (const q of placed)
      for (const [source, target, bits] of needs)
        if (p.workload === source && q.workload === target && p.zone !== q.zone)
          sums[`${p.zone} ${q.zone}`]! += bits;
  return sums;
}

async function written(store: ClusterStore): Promise<Record<string, number>> {
  const object = await store.get({ ...KINDS.networkTopology, namespace: "default", name: "nt-default" });
  const [{ topologyList }] = object!.spec!["weights"] as [
    { topologyList: { originList: { origin: string; costList: Record<string, string>[] }[] }[] },
  ];
  return Object.fromEntries(
    topologyList.flatMap(({ originList }) =>
      originList.flatMap(({ origin, costList }) =>
        costList.map(({ destination, bandwidthAllocated }) => [
          `${origin} ${destination}`,
          Number(bandwidthAllocated!.replace("k", "000").replace("M", "000000")),
        ]),
      ),
    ),
  );
}

describe("allocated bandwidth in the NetworkTopology", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "is what the pods there are claim, through churn and restarts (seed %i)",
    async (seed) => {
      const random = seededRandom(seed);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!;
      const clock = new ManualClock();
      const logger = new MemoryLogger();
      const store = createMemoryStore({ clock });
      const draw = () =>
        WORKLOADS.flatMap((from) =>
          WORKLOADS.filter(() => random.next() < 0.5).map(
            (to) => [from, to, 1 + Math.floor(random.next() * 1e6)] as const,
          ),
        );
      let needs = draw();
      await fill(store, [...NODES.map((name) => nodeObject(name, zoneOf(name))), appGroup(needs)]);
      const { networkTopology: config } = loadSettings([networkTopologySettings], {
        env: {},
        file: { networkTopology: { minWriteIntervalMs: 0 } },
      });
      const open = async () => {
        const watch = new StoreClusterWatch({ store, clock, random, logger });
        await watch.start();
        const controller = new NetworkTopologyController({
          config,
          store,
          inputs: { graph: () => GRAPH, pods: () => watch.pods(), appGroups: () => watch.appGroups() },
          leadership: { isLeader: () => true },
          events: { event: () => undefined },
          clock,
          logger,
          registry: createRegistry(),
        });
        return { watch, controller };
      };
      let running = await open();
      let born = 0;
      const change = async (): Promise<void> => {
        const { items } = await store.list(KINDS.pod);
        const what = random.next();
        const victim = pick(items);
        if (what < 0.5 || victim === undefined) {
          const labels = {
            "appgroup.diktyo.x-k8s.io": "a1",
            "appgroup.diktyo.x-k8s.io.workload": pick(WORKLOADS),
          };
          const name = `p${born++}`;
          const spec = { containers: [], ...(random.next() < 0.8 ? { nodeName: pick(NODES) } : {}) };
          await store.create({ ...KINDS.pod, metadata: { namespace: "default", name, labels }, spec });
          return;
        }
        const ref = { ...KINDS.pod, namespace: "default", name: victim.metadata.name };
        if (what < 0.7) await store.delete(ref, { gracePeriodSeconds: 0 });
        else if (what < 0.8)
          await store.patch(ref, { status: { phase: "Succeeded" } }, { subresource: "status" });
        else if (what < 0.9) await store.patch(ref, { metadata: { annotations: { touched: String(born) } } });
        else {
          needs = draw();
          const { kind, apiVersion } = KINDS.appGroup;
          const group = { kind, apiVersion, namespace: "default", name: "a1" };
          await store.patch(group, { spec: appGroup(needs).spec });
        }
      };
      for (let round = 0; round < ROUNDS; round++) {
        for (let changes = Math.floor(random.next() * 4); changes >= 0; changes--) await change();
        if (random.next() < 0.15) {
          await running.watch.stop();
          running = await open();
        }
        await clock.advance(1000);
        await running.controller.check();
        expect(await written(store)).toEqual(await claims(store, needs));
      }
      await running.watch.stop();
    },
  );

  test("two that both believe they lead write the same, and neither undoes the other", async () => {
    const clock = new ManualClock();
    const logger = new MemoryLogger();
    const store = createMemoryStore({ clock });
    const { networkTopology: config } = loadSettings([networkTopologySettings], {
      env: {},
      file: { networkTopology: { minWriteIntervalMs: 0 } },
    });
    const both = [1, 2].map(
      () =>
        new NetworkTopologyController({
          config,
          store,
          inputs: { graph: () => GRAPH, pods: () => [], appGroups: () => [] },
          leadership: { isLeader: () => true },
          events: { event: () => undefined },
          clock,
          logger,
          registry: createRegistry(),
        }),
    );
    await Promise.all(both.map((one) => one.check()));
    const ref = { ...KINDS.networkTopology, namespace: "default", name: "nt-default" };
    const first = (await store.get(ref))!.metadata.resourceVersion;
    for (let round = 0; round < 3; round++) {
      await clock.advance(1000);
      await Promise.all(both.map((one) => one.check()));
    }
    expect((await store.get(ref))!.metadata.resourceVersion).toBe(first);
    expect(both.map(({ fault }) => fault)).toEqual([null, null]);
  });
});
