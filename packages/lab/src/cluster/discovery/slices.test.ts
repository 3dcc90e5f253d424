import { KINDS, readyEndpoints, zonesHinted } from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { LabCluster } from "../lab-cluster.ts";
import { ZoneUsers } from "../load/zone-users.ts";
import { readManifest } from "../manifest/read.ts";
import { DirectNetwork } from "../testing/direct-network.ts";
import { sites, workloadYaml } from "../testing/builders.ts";

const WITHIN = { timeout: 6_000 };

it(
  "requests go where slices and their hints say, chosen at random",
  async () => {
    const store = createMemoryStore({ clock: systemClock });
    const nodes = sites(3);
    const network = new DirectNetwork(nodes.map(({ name }) => name));
    const around = {
      store,
      network,
      clock: systemClock,
      random: seededRandom(7),
      logger: new MemoryLogger(),
    };
    const manifest = readManifest(
      [
        workloadYaml("web", { entry: "true", calls: "api" }),
        workloadYaml("api", { "cpu-kind": "modelled" }, 3),
      ].join("---\n"),
      "two.yaml",
    );
    const pods = { terminationGraceMs: 100, niceness: null };
    const cluster = await LabCluster.start({
      ...around,
      sites: nodes,
      manifest,
      requestsPerSecond: 0,
      placement: "spread",
      pods,
      slices: true,
    });
    onTestFinished(() => cluster.stop());
    await cluster.waitReady(WITHIN.timeout);
    const slice = { ...KINDS.endpointSlice, namespace: manifest.namespace, name: "api-1" };
    const ready = async () => readyEndpoints((await store.get(slice))!);
    await vi.waitFor(async () => expect(await ready()).toHaveLength(3), WITHIN);
    const endpoints = await ready();
    expect(new Set(endpoints.map(({ id }) => id)).size).toBe(3);
    expect(new Set(endpoints.map(({ zone }) => zone))).toEqual(new Set(["z1", "z2", "z3"]));

    const plan = { phasesMs: [0], periodMs: 20, timeoutMs: 10_000, maxPending: 100 };
    const users = new ZoneUsers({ ...around, plans: new Map([["web", plan]]) });
    onTestFinished(() => users.stop());
    const asked = async (): Promise<Map<string, number>> => {
      const pages = await cluster.sidecarPages();
      const byUid = new Map((await store.list(KINDS.pod)).items.map((pod) => [pod.metadata.uid, pod]));
      const zones = looseList<{ nodeName: string; targetRef: { name: string } }>(
        (await store.get(slice))!.endpoints,
      ).map(({ nodeName, targetRef }) => [targetRef, nodeName] as const);
      return new Map(
        [...pages].flatMap(([uid, page]) => {
          const name = byUid.get(uid)?.metadata.name;
          const found = zones.find(([ref]) => (ref as { name?: string }).name === name);
          const count = /istio_requests_total\{reporter="destination"[^}]*\} (\d+)/.exec(page)?.[1] ?? "0";
          return found === undefined ? [] : [[String(found[1]), Number(count)]];
        }),
      );
    };
    await vi.waitFor(
      async () => expect([...(await asked()).values()].every((n) => n > 5)).toBe(true),
      WITHIN,
    );
    expect(users.isBegun).toBe(true);

    const web = cluster.pods().find(({ workload }) => workload === "web")!.node!;
    const service = { ...KINDS.service, namespace: manifest.namespace, name: "api" };
    await store.patch(service, { spec: { trafficDistribution: "PreferSameZone" } });
    await vi.waitFor(
      async () => expect(zonesHinted((await store.get(slice))!)).toEqual(endpoints.map(({ zone }) => [zone])),
      WITHIN,
    );
    await vi.waitFor(async () => {
      const before = await asked();
      const { size } = await users.stretch(400);
      const after = await asked();
      const grown = [...after].filter(([zone, count]) => count > before.get(zone)!).map(([node]) => node);
      expect([size, grown]).toEqual([1, [web]]);
    }, WITHIN);
  },
  WITHIN.timeout,
);
