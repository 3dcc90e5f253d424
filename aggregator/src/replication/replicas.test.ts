import {
  candidacy,
  KINDS,
  type ClusterStore,
  type KubernetesObject,
  type LeaderElection,
} from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, type Clock } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AGGREGATOR_LEASE } from "./leadership.ts";
import { REPLICA_LABEL, Replicas } from "./replicas.ts";

const NAMESPACE = "isochrone";
const OBJECTS = Array.from({ length: 200 }, (_, index) => `node/n${index}`);

let clock: ManualClock;
let store: ClusterStore;
let logger: MemoryLogger;
let lives: Life[];

/** One process of a replica. It can lose the store, or freeze, which equals a crash. */
class Life {
  readonly replicas: Replicas;
  readonly leadership: LeaderElection;
  cutOff = false;
  #stillUntilMs = 0;

  constructor(replica: string, seed = lives.length + 1) {
    const options = {
      store: this.#around(store),
      clock: this.#clock(),
      random: seededRandom(seed),
      logger,
      namespace: NAMESPACE,
      replica,
      url: () => `http://${replica}:8080`,
    };
    this.leadership = candidacy(options, AGGREGATOR_LEASE);
    this.replicas = new Replicas({ ...options, leadership: this.leadership });
    lives.push(this);
  }

  async start(): Promise<this> {
    this.leadership.start();
    await this.replicas.start();
    return this;
  }

  async stop(): Promise<void> {
    await this.replicas.stop();
    await this.leadership.stop();
  }

  standStill(ms: number): void {
    this.#stillUntilMs = clock.monotonic() + ms;
  }

  owned(): string[] {
    return OBJECTS.filter((object) => this.replicas.owns(object));
  }

  names(): string[] {
    return this.replicas.liveReplicas().map(({ name }) => name);
  }

  #clock(): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal);
        while (this.#stillUntilMs > clock.monotonic())
          await clock.sleep(this.#stillUntilMs - clock.monotonic());
      },
    };
  }

  #around(inner: ClusterStore): ClusterStore {
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.cutOff) throw new Error("cut off");
      return await work();
    };
    return {
      ...inner,
      get: (ref) => call(() => inner.get(ref)),
      list: (kind, options) => call(() => inner.list(kind, options)),
      create: (object) => call(() => inner.create(object)),
      update: (object) => call(() => inner.update(object)),
      delete: (ref, options) => call(() => inner.delete(ref, options)),
      watch: (kind, options) => inner.watch(kind, options),
    };
  }
}

beforeEach(() => {
  clock = new ManualClock();
  store = createMemoryStore({ clock });
  logger = new MemoryLogger({ clock });
  lives = [];
});

afterEach(async () => {
  const stopped = Promise.all(lives.map((life) => life.stop()));
  await clock.advance(60_000);
  await stopped;
});

const startAll = async (...names: string[]): Promise<Life[]> =>
  await Promise.all(names.map((name) => new Life(name).start()));
const leases = async (): Promise<KubernetesObject[]> => (await store.list(KINDS.lease)).items;

function shares(among: readonly Life[]): { twice: string[]; nobody: string[] } {
  const owners = OBJECTS.map((object) => among.filter((life) => life.replicas.owns(object)).length);
  return {
    twice: OBJECTS.filter((_, index) => owners[index]! > 1),
    nobody: OBJECTS.filter((_, index) => owners[index] === 0),
  };
}

describe("Replicas", () => {
  test("know each other with their addresses, by a labelled lease each", async () => {
    const [a] = await startAll("a", "b", "c");
    await clock.advance(100);
    expect(a!.replicas.liveReplicas()).toEqual(
      ["a", "b", "c"].map((name) => ({ name, url: `http://${name}:8080` })),
    );
    const names = (await leases()).map(({ metadata }) => [metadata.name, metadata.labels?.[REPLICA_LABEL]]);
    expect(names).toEqual([
      ["isochrone-aggregator", undefined],
      ...["a", "b", "c"].map((name) => [`isochrone-aggregator-${name}`, "aggregator"]),
    ]);
  });

  test("one alone owns everything, once it is settled", async () => {
    const [a] = await startAll("a");
    await clock.advance(1_999);
    expect(a!.owned()).toEqual([]);
    expect(a!.replicas.ownerOf("x")).toBe("a");
    await clock.advance(1);
    expect(a!.owned()).toEqual(OBJECTS);
  });

  test("share all objects, each agreeing with the others", async () => {
    const all = await startAll("a", "b", "c");
    await clock.advance(10_000);
    expect(shares(all)).toEqual({ twice: [], nobody: [] });
    for (const life of all) expect(life.owned().length).toBeGreaterThan(40);
    const owners = all.map((life) => OBJECTS.map((object) => life.replicas.ownerOf(object)));
    expect(owners[1]).toEqual(owners[0]);
    expect(owners[2]).toEqual(owners[0]);
  });

  test("one that leaves hands over at once, and its lease goes", async () => {
    const [a, b] = await startAll("a", "b");
    await clock.advance(10_000);
    const stopped = a!.stop();
    await clock.advance(100);
    await stopped;
    expect(b!.names()).toEqual(["b"]);
    expect(b!.owned()).toEqual(OBJECTS);
    expect((await leases()).map(({ metadata }) => metadata.name)).not.toContain("isochrone-aggregator-a");
  });

  test("one that is cut off owns nothing before others own what it had", async () => {
    const [a, b] = await startAll("a", "b");
    await clock.advance(10_000);
    const before = a!.owned();
    a!.cutOff = true;
    let handedOver = false;
    for (let step = 0; step < 200; step++) {
      await clock.advance(100);
      expect(shares([a!, b!]).twice).toEqual([]);
      handedOver ||= b!.owned().length === OBJECTS.length;
      expect(step > 100 ? a!.owned() : []).toEqual([]);
    }
    expect(handedOver).toBe(true);
    a!.cutOff = false;
    await clock.advance(40_000);
    expect(a!.owned()).toEqual(before);
    expect(shares([a!, b!])).toEqual({ twice: [], nobody: [] });
  });

  test("one whose event loop stood still owns nothing at the moment it goes on", async () => {
    const [a, b] = await startAll("a", "b");
    await clock.advance(10_000);
    a!.standStill(30_000);
    await clock.advance(10_001);
    expect(a!.owned()).toEqual([]);
    expect(a!.replicas.ownerOf("x")).toBe("b");
    await clock.advance(10_000);
    expect(b!.owned()).toEqual(OBJECTS);
  });

  test("a lease that nobody renews any more stops counting, and is deleted by the leader long after", async () => {
    const [a] = await startAll("a");
    await clock.advance(1_000);
    await store.create({
      ...KINDS.lease,
      metadata: {
        name: "isochrone-aggregator-gone",
        namespace: NAMESPACE,
        labels: { [REPLICA_LABEL]: "aggregator" },
      },
      spec: { holderIdentity: "gone_1", leaseDurationSeconds: 15, renewTime: "2099-01-01T00:00:00.000000Z" },
    });
    await clock.advance(14_999);
    expect(a!.names()).toEqual(["a", "gone"]);
    await clock.advance(1);
    expect(a!.names()).toEqual(["a"]);
    await clock.advance(134_000);
    expect((await leases()).length).toBe(3);
    await clock.advance(20_000);
    expect((await leases()).map(({ metadata }) => metadata.name)).toEqual([
      "isochrone-aggregator",
      "isochrone-aggregator-a",
    ]);
  });

  test("leases of others are none of its business", async () => {
    const [a] = await startAll("a");
    const lease = (name: string, labels: Record<string, string>): KubernetesObject => ({
      ...KINDS.lease,
      metadata: { name, namespace: NAMESPACE, labels },
      spec: { holderIdentity: "x", leaseDurationSeconds: 3600 },
    });
    await store.create(lease("kube-scheduler", { [REPLICA_LABEL]: "aggregator" }));
    await store.create(lease("isochrone-aggregator-x", {}));
    await store.create(lease("isochrone-aggregator-y", { [REPLICA_LABEL]: "scheduler-plugin" }));
    await clock.advance(200_000);
    expect(a!.names()).toEqual(["a"]);
    expect((await leases()).length).toBe(5);
  });

  test("a replica that starts while the store is away owns nothing until it has seen the others", async () => {
    const [a] = await startAll("a");
    await clock.advance(10_000);
    const b = new Life("b");
    b.cutOff = true;
    await b.start();
    await clock.advance(30_000);
    expect([b.owned(), b.replicas.ownerOf("x"), b.names()]).toEqual([[], null, []]);
    b.cutOff = false;
    await clock.advance(60_000);
    expect(shares([a!, b])).toEqual({ twice: [], nobody: [] });
    expect(b.names()).toEqual(["a", "b"]);
  });

  test("the leader is known to all with its address", async () => {
    const all = await startAll("a", "b", "c");
    await clock.advance(10_000);
    const holders = all.map((life) => life.leadership.holder());
    expect(holders.map((holder) => holder?.url)).toEqual(Array.from({ length: 3 }, () => "http://a:8080"));
    expect(all.map((life) => life.leadership.isLeader())).toEqual([true, false, false]);
  });
});

test.each(Array.from({ length: 8 }, (_, index) => index + 1))(
  "whatever happens to replicas, no object has two owners, and in the end each has one (seed %i)",
  async (seed) => {
    const random = seededRandom(seed);
    const names = ["a", "b", "c"];
    const current = await startAll(...names);
    const former: Life[] = [];
    const stopping: Promise<void>[] = [];
    for (let step = 0; step < 300; step++) {
      const index = Math.floor(random.next() * current.length);
      const life = current[index]!;
      const draw = random.next();
      if (draw < 0.04) life.cutOff = !life.cutOff;
      else if (draw < 0.06) life.standStill(25_000 * random.next());
      else if (draw < 0.08) {
        // A restart: the previous process is killed (cut off for good) or stops.
        if (random.next() < 0.5) stopping.push(life.stop());
        else life.cutOff = true;
        former.push(life);
        current[index] = await new Life(names[index]!).start();
      }
      await clock.advance(400);
      expect(shares([...current, ...former]).twice).toEqual([]);
    }
    for (const life of current) life.cutOff = false;
    await clock.advance(90_000);
    expect(shares(current)).toEqual({ twice: [], nobody: [] });
    expect(current.filter(({ leadership }) => leadership.isLeader()).length).toBe(1);
    await Promise.all(stopping);
  },
);
