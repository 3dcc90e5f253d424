import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  admitted,
  AppGroupFloors,
  contentsOf,
  type AddressedFlow,
} from "@isochrone/scheduler-plugin/parsers";
import type { Outcome, Trials } from "./trial.ts";

const CAPACITY = 10_000_000;
const TARGETS = 200;

export function floorTrials(): Trials {
  return {
    trials: {
      "`minBandwidth` of all dependencies between two workloads": async (amount) => {
        const { floors, groups } = await floorsOf(1, 1, String(amount));
        const taken = floors[0]?.bitsPerSecond;
        return { isCut: taken !== amount, named: `${taken}`, kept: [floors, groups] };
      },
      "pairs of pods with a floor": async (amount) => {
        const sources = Math.ceil(amount / TARGETS);
        const { floors, groups, input } = await floorsOf(sources, TARGETS, "1k");
        const [{ pairs, planned } = { pairs: 0, planned: 0 }] = groups;
        const isCut = floors.length < sources * TARGETS;
        return { isCut, named: planned < pairs ? `${planned} of ${pairs}` : null, input, kept: floors };
      },
      "floors of a namespace on a link": (amount) => {
        const floor = flow("a", "b", 0, (CAPACITY * amount) / 100);
        const { cut } = admitted([floor], [{ source: "a", target: "b", capacityBitsPerSecond: CAPACITY }]);
        return { isCut: cut.length > 0, named: cut[0]?.id ?? null };
      },
      "flows of a node's plan": (amount) =>
        placed(Array.from({ length: amount }, (_, at) => flow("a", "b", at))),
      "neighbours of a node's plan": (amount) =>
        placed(Array.from({ length: amount }, (_, at) => flow("a", `n${at}`, at))),
    },
  };
}

function placed(flows: readonly AddressedFlow[]): Outcome {
  const nodes = [...new Set(flows.flatMap(({ route }) => route))];
  const contents = contentsOf(flows, { nodes, addressOf: () => "10.0.0.1", capacityOf: () => null });
  const { length } = contents.withoutPlace;
  return {
    isCut: length > 0,
    named: length > 0 ? `${length} flows without a place` : null,
    input: [flows, nodes],
    kept: contents,
  };
}

function flow(from: string, to: string, at: number, bitsPerSecond = 1e6): AddressedFlow {
  const address = `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
  return {
    id: `shop/web/${at}`,
    owner: { kind: "AppGroup", namespace: "shop", name: "web" },
    source: { node: from, address: "10.200.0.1", port: null },
    target: { node: to, address, port: null },
    route: [from, to],
    bitsPerSecond,
  };
}

async function floorsOf(
  sources: number,
  targets: number,
  minBandwidth: string,
): Promise<{
  readonly floors: ReturnType<AppGroupFloors["floors"]>;
  readonly groups: ReturnType<AppGroupFloors["groups"]>;
  readonly input: unknown;
}> {
  const store = createMemoryStore({ clock: systemClock });
  const deps = { store, clock: systemClock, random: seededRandom(1), logger: new MemoryLogger() };
  const workload = (selector: string): object => ({ kind: "Deployment", name: selector, selector });
  await store.create({
    ...KINDS.appGroup,
    metadata: { namespace: "shop", name: "web" },
    spec: {
      workloads: [
        { workload: workload("web"), dependencies: [{ workload: workload("db"), minBandwidth }] },
        { workload: workload("db") },
      ],
    },
  });
  const read = new AppGroupFloors(deps);
  const pods = [
    ...Array.from({ length: sources }, (_, at) => pod("web", "n0", at)),
    ...Array.from({ length: targets }, (_, at) => pod("db", "n1", at)),
  ];
  for (const object of pods) read.takePod({ type: "added", object });
  // Wait until the AppGroup is listed.
  for (let isListed = false; !isListed; isListed = read.groups().length > 0) {
    await sleep(5);
    read.floors();
  }
  const floors = read.floors();
  const groups = read.groups();
  await read.stop();
  return { floors, groups, input: [pods, read] };
}

function pod(selector: string, node: string, at: number): KubernetesObject {
  const address = `10.${node === "n0" ? 1 : 2}.${at >> 8}.${at & 255}`;
  return {
    ...KINDS.pod,
    metadata: {
      namespace: "shop",
      name: `${selector}-${at}`,
      labels: { "appgroup.diktyo.x-k8s.io": "web", "appgroup.diktyo.x-k8s.io.workload": selector },
    },
    spec: { nodeName: node },
    status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
  };
}
