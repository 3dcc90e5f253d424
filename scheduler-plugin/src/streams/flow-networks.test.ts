// Tenants' floors from AppGroups to flows: bounded, shared, and reported where cut.
import { KINDS, type KubernetesObject, type ReportedEvent } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import * as fc from "fast-check";
import type { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { FLOOR_BOUNDS } from "./domain/floors.ts";
import type { AddressedFlow } from "./domain/flow-plans.ts";
import { FlowNetworks } from "./flow-networks.ts";
import { createStreamMetrics } from "./metrics.ts";

const NODES = ["n0", "n1", "n2", "n3"];
const LINKS = [
  { source: "n0", target: "n1", capacity: "100M" },
  { source: "n1", target: "n2", capacity: "100M" },
  { source: "n2", target: "n3", capacity: "100M", duplex: "half" },
];

type Needs = readonly (readonly [string, string, string])[];

function appGroup(namespace: string, name: string, needs: Needs): KubernetesObject {
  const workload = (selector: string): object => ({
    kind: "Deployment",
    name: selector,
    selector,
    namespace,
  });
  const workloads = needs.map(([selector, dependency, minBandwidth]) => ({
    workload: workload(selector),
    dependencies: [{ workload: workload(dependency), minBandwidth }],
  }));
  return {
    ...KINDS.appGroup,
    metadata: { namespace, name },
    spec: { numMembers: needs.length, topologySortingAlgorithm: "KahnSort", workloads },
  };
}

interface PodFields {
  readonly group?: string;
  readonly owner?: string;
}

let addresses = 0;

function pod(
  namespace: string,
  name: string,
  selector: string,
  node: string,
  { group = "web", owner }: PodFields = {},
): KubernetesObject {
  addresses++;
  const podIP = `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
  return {
    ...KINDS.pod,
    metadata: {
      namespace,
      name,
      labels: { "appgroup.diktyo.x-k8s.io": group, "appgroup.diktyo.x-k8s.io.workload": selector },
      ...(owner === undefined
        ? {}
        : {
            ownerReferences: [{ apiVersion: "v1", kind: "Odd", name: owner, uid: "1", controller: true }],
          }),
    },
    spec: { nodeName: node, containers: [] },
    status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] },
  };
}

class Rig {
  readonly clock = new ManualClock();
  readonly store = createMemoryStore({ clock: this.clock });
  readonly told: (ReportedEvent & { readonly group: string })[] = [];
  readonly registry: Registry = createRegistry();
  readonly networks: FlowNetworks;

  constructor() {
    const { clock, store } = this;
    this.networks = new FlowNetworks({
      store,
      clock,
      random: seededRandom(1),
      logger: new MemoryLogger({ clock }),
      events: {
        event: (regarding, event) => {
          const { namespace = "", name } = "metadata" in regarding ? regarding.metadata : regarding;
          this.told.push({ ...event, group: `${namespace}/${name}` });
        },
      },
      metrics: createStreamMetrics(this.registry),
      onChange: () => undefined,
    });
  }

  async create(...objects: readonly KubernetesObject[]): Promise<void> {
    await this.store.create({ ...KINDS.flowNetwork, metadata: { name: "site" }, spec: { links: LINKS } });
    for (const object of objects)
      if (object.kind === "Pod") this.networks.takePod({ type: "added", object });
      else await this.store.create(object);
    await this.clock.advance(5_000);
    this.networks.update(NODES, null);
  }

  async tell(withoutPlace: readonly AddressedFlow[] = []): Promise<void> {
    await this.networks.tell(this.clock.now(), withoutPlace);
  }

  async cut(reason: string): Promise<number> {
    const [metric] = (await this.registry.getMetricsAsJSON()).filter(
      ({ name }) => name === "isochrone_streams_cut_flows",
    );
    return metric!.values.find(({ labels }) => labels["reason"] === reason)!.value;
  }
}

function podsOf(namespace: string, selector: string, count: number, fields?: PodFields): KubernetesObject[] {
  return Array.from({ length: count }, (_, at) =>
    pod(namespace, `${selector}-${at}`, selector, NODES[at % 2]!, fields),
  );
}

describe("floors of AppGroups", () => {
  let rig: Rig;
  const started = (): Rig => (rig = new Rig());
  afterEach(() => rig.networks.stop());

  test("1P between two pods of a tenant takes its share of the link, and its AppGroup is told", async () => {
    const { networks, told } = started();
    await rig.create(
      appGroup("tenant", "web", [["a", "b", "1P"]]),
      appGroup("shop", "web", [["a", "b", "20M"]]),
      ...["tenant", "shop"].flatMap((namespace) => [
        pod(namespace, "a-0", "a", "n0"),
        pod(namespace, "b-0", "b", "n1"),
      ]),
    );
    const rates = Object.fromEntries(networks.floors.map(({ id, bitsPerSecond }) => [id, bitsPerSecond]));
    expect(rates).toEqual({ "tenant/web/a-0->b-0": 50e6, "shop/web/a-0->b-0": 20e6 });
    await rig.tell();
    await rig.tell();
    expect(told).toMatchObject([
      {
        group: "tenant/web",
        type: "Warning",
        reason: "FloorsCut",
        note: expect.stringContaining(
          "such as a-0->b-0: the floors of a namespace take at most 50 % of a link",
        ),
      },
    ]);
    expect(await rig.cut("link_share")).toBe(1);
  });

  test("1,600 dependencies between the same workloads are one floor for each pair of pods", async () => {
    const { networks } = started();
    const needs = Array.from({ length: 1_600 }, () => ["a", "b", "1k"] as const);
    await rig.create(
      appGroup("tenant", "web", needs),
      ...podsOf("tenant", "a", 40),
      ...podsOf("tenant", "b", 40),
    );
    expect(networks.floors).toHaveLength(800);
    expect(new Set(networks.floors.map(({ id }) => id)).size).toBe(800);
  });

  test("an AppGroup of many pairs makes no more floors than there are places, and is told", async () => {
    const { networks, told } = started();
    const selectors = Array.from({ length: 40 }, (_, at) => `s${at}`);
    const needs = selectors.flatMap((from) => selectors.map((to) => [from, to, "1k"] as const));
    await rig.create(
      appGroup("tenant", "web", needs),
      ...selectors.flatMap((selector) => podsOf("tenant", selector, 10)),
    );
    expect(networks.floors).toHaveLength(FLOOR_BOUNDS.pairs);
    await rig.tell();
    expect(told[0]!.note).toContain("60000 of 80000 pairs of pods have no floor");
    expect(await rig.cut("pairs")).toBe(60_000);
  });

  test("namespaces share the pairs, whatever their names and their numbers of AppGroups", async () => {
    const sizes = fc.array(fc.tuple(fc.integer({ min: 1, max: 260 }), fc.integer({ min: 1, max: 3 })), {
      minLength: 2,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(sizes, async (tenants) => {
        const { networks } = started();
        const objects = tenants.flatMap(([count, groups], tenant) =>
          Array.from({ length: groups }, (_, at) => {
            const [namespace, group] = [`n${tenant}`, `g${at}`];
            return [
              appGroup(namespace, group, [["a", "b", "1k"]]),
              ...podsOf(namespace, "a", count, { group }),
              ...podsOf(namespace, "b", count, { group }),
            ];
          }).flat(),
        );
        await rig.create(...objects);
        const floors = networks.floors;
        expect(floors.length).toBeLessThanOrEqual(FLOOR_BOUNDS.pairs);
        const equal = Math.floor(FLOOR_BOUNDS.pairs / tenants.length);
        for (const [tenant, [count, groups]] of tenants.entries()) {
          const declared = groups * 2 * Math.ceil(count / 2) * Math.floor(count / 2);
          const own = floors.filter(({ owner }) => owner.namespace === `n${tenant}`).length;
          expect(own).toBeGreaterThanOrEqual(Math.min(declared, equal));
        }
        await networks.stop();
      }),
      { numRuns: 8 },
    );
  }, 60_000);

  test("leave out the names of workloads that a flow plan can't have", async () => {
    const { networks } = started();
    await rig.create(
      appGroup("tenant", "web", [["a", "b", "1M"]]),
      pod("tenant", "a-0", "a", "n0", { owner: "x".repeat(400) }),
      pod("tenant", "b-0", "b", "n1"),
    );
    expect(networks.floors).toHaveLength(1);
    expect(networks.floors[0]).not.toHaveProperty("channel");
  });

  test("one namespace's AppGroups get 20 Events, others theirs, and flows without a place are named", async () => {
    const { told, networks } = started();
    const groups = Array.from({ length: 30 }, (_, at) => `g${at}`);
    await rig.create(
      ...groups.flatMap((group) => [
        appGroup("tenant", group, [["a", "b", "1P"]]),
        pod("tenant", `${group}-a`, "a", "n0", { group }),
        pod("tenant", `${group}-b`, "b", "n1", { group }),
      ]),
      appGroup("shop", "web", [["a", "b", "1M"]]),
      pod("shop", "a-0", "a", "n0"),
      pod("shop", "b-0", "b", "n1"),
    );
    await rig.tell(networks.floors.filter(({ owner }) => owner.namespace === "shop"));
    expect(told.filter(({ group }) => group.startsWith("tenant/"))).toHaveLength(20);
    expect(told.find(({ group }) => group === "shop/web")!.note).toContain(
      "1 of 1 pairs of pods have no floor, such as a-0->b-0: namespaces share 5000 flows",
    );
    expect(await rig.cut("link_share")).toBe(30);
    expect(await rig.cut("places")).toBe(1);
  });
});
