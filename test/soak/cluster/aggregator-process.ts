// The aggregator of a simulated cluster, on Kafka, with the cluster's nodes and pods in its store: pods are replaced as the world says. The
// first line of its output is its address.
import { setTimeout as delay } from "node:timers/promises";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import {
  countBuffersAsHeap,
  createLogger,
  createRegistry,
  loadSettings,
  systemClock,
  systemRandom,
} from "@isochrone/runtime";
import type { SoakAggregatorTask } from "./processes.ts";
import { World, type PodIdentity } from "./world.ts";

const CHURN_TICK_MS = 1000;

// As the service's own main does.
countBuffersAsHeap();
const task = JSON.parse(process.argv[2] ?? "{}") as SoakAggregatorTask;
const world = new World(task.shape);
const { nodes, podsPerNode } = task.shape;
const logger = createLogger({ service: "aggregator", level: "info", destination: process.stderr });
const store = createMemoryStore({ clock: systemClock });
const current: PodIdentity[] = [];

for (let node = 0; node < nodes; node++) await store.create(nodeObject(node));
for (let slot = 0; slot < nodes * podsPerNode; slot++) {
  current[slot] = world.pod(slot, Date.now());
  await store.create(podObject(current[slot]!));
}

const { aggregator: config, bus: busConfig } = loadSettings([aggregatorSettings, busSettings], {
  env: {},
  overrides: {
    aggregator: { host: "127.0.0.1", port: 0, ...task.settings },
    bus: {
      kind: "kafka",
      brokers: task.brokers,
      client: task.client,
      replicationFactor: task.brokers.length,
    },
  },
});
const surroundings = {
  clock: systemClock,
  random: systemRandom,
  logger,
  registry: createRegistry({ processMetrics: true }),
};
const { bus, service: carrying } = await openBus(busConfig, {
  ...surroundings,
  memory: {},
  windowMs: config.windowMs,
});
await carrying.start();
const aggregator = createAggregator(config, { ...surroundings, bus, store, isShared: true });
await aggregator.start();
process.stdout.write(`${aggregator.address().url}\n`);

const ending = new AbortController();
process.stdin.resume();
process.stdin.on("end", () => ending.abort());
while (!ending.signal.aborted) {
  await delay(CHURN_TICK_MS);
  const nowMs = Date.now();
  for (let slot = 0; slot < current.length; slot++) {
    const before = current[slot]!;
    const pod = world.pod(slot, nowMs);
    if (pod.name === before.name) continue;
    current[slot] = pod;
    await store.delete(
      { ...KINDS.pod, namespace: namespaceOf(slot), name: before.name },
      { gracePeriodSeconds: 0 },
    );
    await store.create(podObject(pod));
  }
}
await aggregator.stop();
await carrying.stop();
process.exit(0);

function namespaceOf(slot: number): string {
  return world.namespaceOf(world.workloadOfSlot(slot));
}

function nodeObject(node: number): KubernetesObject {
  return {
    ...KINDS.node,
    metadata: {
      name: world.nodeName(node),
      labels: {
        "topology.kubernetes.io/zone": world.zone(node),
        "topology.kubernetes.io/region": world.region(node),
      },
    },
    status: {
      allocatable: { cpu: "16", memory: "64Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function podObject({ slot, name }: PodIdentity): KubernetesObject {
  const workload = world.workloadName(world.workloadOfSlot(slot));
  return {
    ...KINDS.pod,
    metadata: {
      namespace: namespaceOf(slot),
      name,
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "StatefulSet", name: workload, uid: workload, controller: true },
      ],
    },
    spec: {
      nodeName: world.nodeName(Math.floor(slot / podsPerNode)),
      containers: [{ name: "app", resources: { requests: { cpu: "100m", memory: "128Mi" } } }],
    },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  };
}
