import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { graphNode, WriterTestbed } from "../harness/writers.ts";

const NODES = 5000;
const MINUTE_MS = 60_000;
const REFRESH_MS = 10 * MINUTE_MS;

function counted(store: ClusterStore, clock: ManualClock): { store: ClusterStore; appliedMs: number[] } {
  const appliedMs: number[] = [];
  const around: ClusterStore = {
    get: (ref) => store.get(ref),
    list: (kind, options) => store.list(kind, options),
    create: (object) => store.create(object),
    update: (object, options) => store.update(object, options),
    patch: (ref, patch, options) => store.patch(ref, patch, options),
    jsonPatch: (ref, operations, options) => store.jsonPatch(ref, operations, options),
    apply: (object, options) => {
      appliedMs.push(clock.monotonic());
      return store.apply(object, options);
    },
    delete: (ref, options) => store.delete(ref, options),
    evict: (pod, options) => store.evict(pod, options),
    scale: (ref, replicas, options) => store.scale(ref, replicas, options),
    bind: (pod, node) => store.bind(pod, node),
    watch: (kind, options) => store.watch(kind, options),
  };
  return { store: around, appliedMs };
}

test("5,000 nodes on two replicas: at most 10 writes a second, and nothing older than its refresh", async () => {
  const clock = new ManualClock();
  const { store, appliedMs } = counted(createMemoryStore({ clock, historyLimit: 200_000 }), clock);
  const names = Array.from({ length: NODES }, (_, index) => `node-${index}.region-${index % 7}.example`);
  for (const name of names) await store.create({ ...KINDS.node, metadata: { name }, spec: {}, status: {} });
  const random = seededRandom(7);
  const places = names.map(() => [random.next() * 80, random.next() * 40, random.next() * 10, 0, 1]);
  // Measurements vary constantly: 3 % jitter, and one node in 500 really changes each minute.
  const factors = names.map(() => 1);
  const graph = (): ReturnType<typeof graphNode>[] =>
    names.map((name, index) =>
      graphNode(name, {
        availableCpuMillicores: 2000 * factors[index]! * (1 + 0.03 * (random.next() - 0.5)),
        coordinate: places[index]!.map((ms) => ms + 0.2 * (random.next() - 0.5)),
      }),
    );
  const replicas = [0, 1].map(
    (replica) =>
      new WriterTestbed({
        store,
        clock,
        logger: new MemoryLogger({ clock }),
        ownership: {
          owns: (object) => Number(/\d+/.exec(object)![0]) % 2 === replica,
          isLeader: () => replica === 0,
          replicas: () => 2,
        },
      }),
  );
  for (const replica of replicas) replica.nodes = graph();
  await Promise.all(replicas.map((replica) => replica.start()));

  const oldestMs: number[] = [];
  for (let second = 1; second <= 20 * 60; second++) {
    await clock.advance(1000);
    if (second % 30 === 0) {
      const nodes = graph();
      for (const replica of replicas) replica.nodes = nodes;
    }
    if (second % 60 !== 0) continue;
    for (let changed = 0; changed < NODES / 500; changed++)
      factors[Math.floor(random.next() * NODES)] = 0.5 + random.next();
    // The first ten minutes annotate all nodes.
    if (second < 600) continue;
    const { items } = await store.list(KINDS.node, { metadataOnly: true });
    const times = items.map(({ metadata }) =>
      Date.parse(metadata.annotations!["isochrone.dev/observed-at"]!),
    );
    oldestMs.push(clock.now() - Math.min(...times));
  }
  await Promise.all(replicas.map((replica) => replica.stop()));

  expect(oldestMs.length).toBe(11);
  expect(Math.max(...oldestMs)).toBeLessThanOrEqual(REFRESH_MS);
  const perMinute = Array.from(
    { length: 20 },
    (_, minute) => appliedMs.filter((ms) => Math.floor(ms / MINUTE_MS) === minute).length,
  );
  console.log(`oldest ${Math.max(...oldestMs) / 1000} s; writes per minute ${perMinute.join(" ")}`);
  for (const writes of perMinute) expect(writes).toBeLessThanOrEqual(10 * 60 + 30);
  // Frames agree: estimates between nodes of different replicas equal those of the single graph.
  const { items } = await store.list(KINDS.node, { metadataOnly: true });
  const coordinate = new Map(
    items.map(({ metadata }) => [
      metadata.name,
      JSON.parse(metadata.annotations!["isochrone.dev/network-coordinate"]!) as number[],
    ]),
  );
  const distance = (a: number[], b: number[]): number =>
    Math.hypot(...a.slice(0, -1).map((x, axis) => x - b[axis]!)) + a.at(-1)! + b.at(-1)!;
  for (let pair = 0; pair < 500; pair++) {
    const [i, j] = [Math.floor(random.next() * NODES), Math.floor(random.next() * NODES)];
    const truth = distance(places[i]!, places[j]!);
    expect(Math.abs(distance(coordinate.get(names[i]!)!, coordinate.get(names[j]!)!) - truth)).toBeLessThan(
      10,
    );
  }
}, 300_000);
